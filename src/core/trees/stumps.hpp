// Decision stumps: the best split of all columns into two parts, searched repeatedly while the
// weights of the rows change and their columns do not, as in boosting.
#pragma once

#include <cstdint>
#include <vector>

#include "base/products.hpp"

namespace gapless {

// How splits are compared: by the Gini impurity of both parts, or by the weight of the rows
// classified correctly when each part gets its heaviest class.
enum class StumpCriterion { gini, accuracy };

struct StumpSplit {
    Index column = -1;         // −1: no column has two values
    Index code = 0;            // rows with this code or a smaller one go left
    Index above = 0;           // the next code that some row has; −1: there is none
    double quality = 0.0;      // −Σ impurity · weight, or the weight classified correctly
    std::vector<double> left;  // the weight of each class on the left
    bool missing_left = false;
    std::vector<std::uint32_t> levels{};  // of a column of categories: those that go left
};

// Columns of codes, arranged for the search: those of few codes as they are, for histograms; the
// others by the rows in the order of their codes. Columns of categories, and those with missing
// values, are searched by the sums of each code.
class StumpColumns {
public:
    explicit StumpColumns(Index rows) : rows_(rows) {}

    Index rows() const { return rows_; }
    Index count() const { return static_cast<Index>(columns_.size()); }

    // Add a column of codes below `levels`; `levels` itself is a missing value. Rows are numbered
    // in 31 bits.
    template <class Code>
    void add(const Code* codes, Index levels, bool is_category);

    // The best split for weights ≥ 0 of rows in classes 0 … class_count − 1; ties go to the first
    // column and the lowest code. Columns of categories need two classes: the best of all subsets
    // of the levels is then among those in the order of the shares of a class (Breiman, Friedman,
    // Olshen and Stone 1984, theorem 4.5).
    StumpSplit best(const double* weights, const std::int32_t* classes, Index class_count,
                    StumpCriterion criterion, const Context& context) const;

private:
    struct Column {
        std::vector<std::uint32_t> present;  // the codes that some row has, rising
        std::vector<std::uint8_t> codes;     // of each row: its position in `present`
        std::vector<std::uint32_t> order;    // 2·row, plus 1 for the last row of its code
        std::vector<std::uint32_t> groups;   // of each row: the same position, one more if missing
        bool is_category = false, has_missing = false;
    };
    struct Weighted;

    std::vector<double> weights_by_code(const Column& column, const Weighted& rows) const;
    StumpSplit best_of_two(const Column& column, const Weighted& rows) const;
    StumpSplit best_of_many(const Column& column, const Weighted& rows) const;
    StumpSplit best_of_groups(const Column& column, const Weighted& rows) const;

    Index rows_;
    std::vector<Column> columns_;
};

}  // namespace gapless
