// Python bindings of decision stumps.
#include "trees/stumps.hpp"

#include <algorithm>

#include "bindings/bindings.hpp"

namespace gapless {
namespace {

template <class Code>
void add_column(StumpColumns& columns, const VectorIn<Code>& codes, Index levels,
                bool is_category) {
    check(extent(codes, 0) == columns.rows(), "codes must have one entry per row");
    for (Index i = 0; i < columns.rows(); ++i)
        check(static_cast<Index>(codes.data()[i]) <= levels, "a code is out of range");
    columns.add(codes.data(), levels, is_category);
}

using FoundStump = std::tuple<Index, Index, Index, double, bool, std::vector<std::uint32_t>>;

// Column, code, next code and quality of the best split, whether missing values go left, and which
// categories do; `left` is filled with the class weights.
FoundStump best_stump(const StumpColumns& columns, const VectorIn<double>& weights,
                      const VectorIn<std::int32_t>& classes, bool by_accuracy,
                      const VectorOut<double>& left, int threads, double deadline) {
    const Index n = columns.rows(), class_count = extent(left, 0);
    check(extent(weights, 0) == n && extent(classes, 0) == n,
          "weights and classes must have one entry per row");
    for (Index i = 0; i < n; ++i)
        check(0 <= classes.data()[i] && classes.data()[i] < class_count, "a class is out of range");
    auto criterion = by_accuracy ? StumpCriterion::accuracy : StumpCriterion::gini;
    StumpSplit best;
    run(threads, deadline, [&](const Context& context) {
        best = columns.best(weights.data(), classes.data(), class_count, criterion, context);
    });
    std::copy(best.left.begin(), best.left.end(), left.data());
    return {best.column, best.code, best.above, best.quality, best.missing_left, best.levels};
}

}  // namespace

void define_stump_functions(nb::module_& m) {
    nb::class_<StumpColumns>(m, "StumpColumns")
        .def("__init__",
             [](StumpColumns* columns, Index rows) {
                 check(0 <= rows && rows < (Index{1} << 31), "rows must fit into 31 bits");
                 new (columns) StumpColumns(rows);
             })
        .def("add", &add_column<std::uint8_t>, array("codes"), "levels"_a, "is_category"_a)
        .def("add", &add_column<std::uint16_t>, array("codes"), "levels"_a, "is_category"_a)
        .def("add", &add_column<std::uint32_t>, array("codes"), "levels"_a, "is_category"_a)
        .def("best", &best_stump, array("weights"), array("classes"), "by_accuracy"_a,
             array("left"), "threads"_a, "deadline"_a);
}

}  // namespace gapless
