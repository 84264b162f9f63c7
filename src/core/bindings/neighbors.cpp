// Python bindings of nearest neighbours.
#include <memory>

#include "bindings/bindings.hpp"
#include "neighbors/kd_tree.hpp"
#include "neighbors/projected_rows.hpp"
#include "neighbors/row_scan.hpp"

namespace gapless {
namespace {

// Labels of queries and rows, both or neither; a query finds no row of its own label.
struct LabelsIn {
    const Maybe<std::int64_t>& of_query;
    const Maybe<std::int64_t>& of_row;

    Labels checked(Index queries, Index rows) const {
        check(of_query.has_value() == of_row.has_value(), "labels are given for both or for none");
        check_length(of_query, queries, "own must have one entry per query");
        check_length(of_row, rows, "labels must have one entry per row");
        return {data_or_null(of_query), data_or_null(of_row)};
    }
};

// Rows within a distance of each query, until the caller has allocated room for them.
class Found {
public:
    explicit Found(std::vector<Within>& collectors) {
        lists_.reserve(collectors.size());
        for (Within& collector : collectors) lists_.push_back(std::move(collector.sorted()));
    }
    void count(const VectorOut<std::int64_t>& counts) const {
        check(extent(counts, 0) == static_cast<Index>(lists_.size()),
              "counts must have one entry per query");
        for (std::size_t i = 0; i < lists_.size(); ++i)
            counts.data()[i] = static_cast<Index>(lists_[i].size());
    }
    // All lists, one after another, each with the nearest row first.
    void take(const VectorOut<double>& distances, const VectorOut<std::int64_t>& rows) const {
        Index total = 0;
        for (const auto& list : lists_) total += static_cast<Index>(list.size());
        check(extent(distances, 0) == total && extent(rows, 0) == total,
              "distances and rows must have one entry per row that was found");
        Index p = 0;
        for (const auto& list : lists_)
            for (const Neighbor& neighbor : list) {
                distances.data()[p] = neighbor.distance;
                rows.data()[p++] = neighbor.row;
            }
    }
    // Distances in place of their reduced form, and only those within the radius.
    void finish(const Distance& distance, Index columns, const double* radius) {
        for (std::size_t i = 0; i < lists_.size(); ++i) {
            for (Neighbor& neighbor : lists_[i])
                neighbor.distance = finished(distance, neighbor.distance, columns);
            while (!lists_[i].empty() && lists_[i].back().distance > radius[i])
                lists_[i].pop_back();
        }
    }

private:
    std::vector<std::vector<Neighbor>> lists_;
};

// ---- the two questions, asked of any search ----

// distances and rows (queries × k); ∞ and −1 if there are fewer rows. `search` is called with the
// collectors, the labels and the context; it returns how many rows were measured in full, which is
// returned.
template <class Search>
Index find_nearest(const Distance& distance, Index rows, Index columns, Index queries,
                   const LabelsIn& labels, const MatrixOut<double>& distances,
                   const MatrixOut<std::int64_t>& found, int threads, double deadline,
                   Search&& search) {
    const Index k = extent(distances, 1);
    check_shape(distances, queries, k, "distances must have one row per query");
    check_shape(found, queries, k, "rows must have the shape of distances");
    check(k >= 1, "k must be at least 1");
    const Labels own = labels.checked(queries, rows);
    std::vector<Nearest> collectors(queries, Nearest(k));
    Index measured = 0;
    run(threads, deadline, [&](const Context& context) {
        measured = search(collectors, own, context);
        for (Index q = 0; q < queries; ++q) {
            const auto& sorted = collectors[q].sorted();
            for (Index i = 0; i < k; ++i) {
                const bool is_there = i < static_cast<Index>(sorted.size());
                distances.data()[q * k + i] = is_there
                                                  ? finished(distance, sorted[i].distance, columns)
                                                  : std::numeric_limits<double>::infinity();
                found.data()[q * k + i] = is_there ? sorted[i].row : -1;
            }
        }
    });
    return measured;
}

template <class Search>
Found find_within(const Distance& distance, Index rows, Index columns, Index queries,
                  const VectorIn<double>& radius, const LabelsIn& labels, int threads,
                  double deadline, Search&& search) {
    check(extent(radius, 0) == queries, "radius must have one entry per query");
    const Labels own = labels.checked(queries, rows);
    std::vector<Within> collectors;
    collectors.reserve(queries);
    for (Index q = 0; q < queries; ++q) {
        // Rounded roots and powers must not lose a row whose distance is exactly the radius; those
        // slightly farther are removed afterwards.
        const double above = std::nextafter(radius.data()[q] * (1 + 1e-12), HUGE_VAL);
        collectors.emplace_back(reduced_form(distance, above, columns));
    }
    run(threads, deadline, [&](const Context& context) { search(collectors, own, context); });
    Found found(collectors);
    found.finish(distance, columns, radius.data());
    return found;
}

// ---- rows that were prepared: trees and projections ----

template <class T, class Rows>
Index nearest_of(const Rows& prepared, const MatrixIn<T>& queries, const Maybe<std::int64_t>& own,
                 const Maybe<std::int64_t>& labels, const MatrixOut<double>& distances,
                 const MatrixOut<std::int64_t>& rows, int threads, double deadline) {
    check(extent(queries, 1) == prepared.columns(), "queries must have the columns of the rows");
    return find_nearest(prepared.distance(), prepared.rows(), prepared.columns(),
                        extent(queries, 0), {own, labels}, distances, rows, threads, deadline,
                        [&](auto& collectors, const Labels& hidden, const Context& context) {
                            return prepared.search(queries.data(), collectors, hidden, context);
                        });
}

template <class T, class Rows>
Found within_of(const Rows& prepared, const MatrixIn<T>& queries, const VectorIn<double>& radius,
                const Maybe<std::int64_t>& own, const Maybe<std::int64_t>& labels, int threads,
                double deadline) {
    check(extent(queries, 1) == prepared.columns(), "queries must have the columns of the rows");
    return find_within(prepared.distance(), prepared.rows(), prepared.columns(), extent(queries, 0),
                       radius, {own, labels}, threads, deadline,
                       [&](auto& collectors, const Labels& hidden, const Context& context) {
                           return prepared.search(queries.data(), collectors, hidden, context);
                       });
}

template <class T, class Rows>
void define_questions(nb::class_<Rows>& bound) {
    bound
        .def("nearest", &nearest_of<T, Rows>, array("queries"), maybe("own"), maybe("labels"),
             array("distances"), array("rows"), "threads"_a, "deadline"_a)
        .def("within", &within_of<T, Rows>, array("queries"), array("radius"), maybe("own"),
             maybe("labels"), "threads"_a, "deadline"_a);
}

template <class T>
KdTree<T>* kd_tree(const MatrixIn<T>& X, const Distance& distance, int threads, double deadline) {
    check(extent(X, 1) <= KdTree<T>::most_columns, "X has too many columns for a tree");
    check(distance.metric <= Metric::minkowski && distance.power >= 1,
          "a tree needs a distance of Minkowski's family");
    std::unique_ptr<KdTree<T>> tree;
    run(threads, deadline, [&](const Context& context) {
        tree = std::make_unique<KdTree<T>>(X.data(), extent(X, 0), extent(X, 1), distance, context);
    });
    return tree.release();
}

template <class T>
ProjectedRows<T>* projected_rows(const MatrixIn<T>& X, const VectorIn<double>& mean,
                                 const std::optional<MatrixIn<double>>& basis, double defect,
                                 int threads, double deadline) {
    const Index d = extent(X, 1);
    check(extent(mean, 0) == d, "mean must have one entry per column");
    check(!basis || extent(*basis, 1) == d, "basis must have the columns of X");
    Frame frame{mean.data(), basis ? basis->data() : nullptr, basis ? extent(*basis, 0) : d,
                defect};
    std::unique_ptr<ProjectedRows<T>> rows;
    run(threads, deadline, [&](const Context& context) {
        rows = std::make_unique<ProjectedRows<T>>(X.data(), extent(X, 0), d, frame, context);
    });
    return rows.release();
}

template <class T>
void define_prepared(nb::module_& m, const char* tree_name, const char* projected_name) {
    nb::class_<KdTree<T>> tree(m, tree_name);
    define_questions<T>(tree);
    // Both keep X, whose rows they measure.
    m.def("kd_tree", &kd_tree<T>, array("X"), "distance"_a, "threads"_a, "deadline"_a,
          nb::rv_policy::take_ownership, nb::keep_alive<0, 1>());
    nb::class_<ProjectedRows<T>> projected(m, projected_name);
    define_questions<T>(projected);
    m.def("projected_rows", &projected_rows<T>, array("X"), array("mean"), maybe("basis"),
          "defect"_a, "threads"_a, "deadline"_a, nb::rv_policy::take_ownership,
          nb::keep_alive<0, 1>());
}

// ---- all rows ----

template <class T>
Index scan_nearest(const Distance& distance, const MatrixIn<T>& X, const MatrixIn<T>& queries,
                   const Maybe<std::int64_t>& own, const Maybe<std::int64_t>& labels,
                   const MatrixOut<double>& distances, const MatrixOut<std::int64_t>& rows,
                   int threads, double deadline) {
    const Index d = extent(X, 1);
    check(extent(queries, 1) == d, "queries must have the columns of X");
    check(0 <= distance.numbers && distance.numbers <= d, "there are not so many columns");
    return find_nearest(distance, extent(X, 0), d, extent(queries, 0), {own, labels}, distances,
                        rows, threads, deadline,
                        [&](auto& collectors, const Labels& hidden, const Context& context) {
                            scan_rows(distance, X.data(), extent(X, 0), d, queries.data(),
                                      collectors, hidden, context);
                            return extent(X, 0) * extent(queries, 0);
                        });
}

template <class T>
Found scan_within(const Distance& distance, const MatrixIn<T>& X, const MatrixIn<T>& queries,
                  const VectorIn<double>& radius, const Maybe<std::int64_t>& own,
                  const Maybe<std::int64_t>& labels, int threads, double deadline) {
    const Index d = extent(X, 1);
    check(extent(queries, 1) == d, "queries must have the columns of X");
    check(0 <= distance.numbers && distance.numbers <= d, "there are not so many columns");
    return find_within(distance, extent(X, 0), d, extent(queries, 0), radius, {own, labels},
                       threads, deadline,
                       [&](auto& collectors, const Labels& hidden, const Context& context) {
                           scan_rows(distance, X.data(), extent(X, 0), d, queries.data(),
                                     collectors, hidden, context);
                       });
}

template <class T>
void define_scans(nb::module_& m) {
    m.def("scan_nearest", &scan_nearest<T>, "distance"_a, array("X"), array("queries"),
          maybe("own"), maybe("labels"), array("distances"), array("rows"), "threads"_a,
          "deadline"_a);
    m.def("scan_within", &scan_within<T>, "distance"_a, array("X"), array("queries"),
          array("radius"), maybe("own"), maybe("labels"), "threads"_a, "deadline"_a);
}

void define_distances(nb::module_& m) {
    nb::enum_<Metric>(m, "Metric")
        .value("euclidean", Metric::euclidean)
        .value("manhattan", Metric::manhattan)
        .value("chebyshev", Metric::chebyshev)
        .value("minkowski", Metric::minkowski)
        .value("hamming", Metric::hamming)
        .value("mixed_sum", Metric::mixed_sum)
        .value("mixed_euclidean", Metric::mixed_euclidean);
    nb::class_<Distance>(m, "Distance")
        .def(
            "__init__",
            [](Distance* distance, Metric metric, double power, Index numbers) {
                new (distance) Distance{metric, power, numbers};
            },
            "metric"_a, "power"_a = 2.0, "numbers"_a = 0)
        .def_ro("metric", &Distance::metric)
        .def_ro("power", &Distance::power)
        .def_ro("numbers", &Distance::numbers);
    nb::class_<Found>(m, "Found")
        .def("count", &Found::count, array("counts"))
        .def("take", &Found::take, array("distances"), array("rows"));
}

}  // namespace

void define_neighbor_functions(nb::module_& m) {
    define_distances(m);
    define_prepared<float>(m, "KdTreeOfFloat", "ProjectedFloat");
    define_prepared<double>(m, "KdTreeOfDouble", "ProjectedDouble");
    define_scans<float>(m);
    define_scans<double>(m);
}

}  // namespace gapless
