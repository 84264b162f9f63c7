// Decision stumps: the best split of all columns into two parts, searched again and again while the
// weights of the rows change and their columns do not, as in boosting.
#pragma once

#include <cstdint>
#include <vector>

#include "products.hpp"

namespace gapless {

// How splits are compared: by the Gini impurity of both parts, or by the weight of the rows that
// are right when each part is given its heaviest class.
enum class StumpCriterion { gini, accuracy };

struct StumpSplit {
    Index column = -1;         // −1: no column has two values
    Index code = 0;            // rows with this code or a smaller one go left
    Index above = 0;           // the next code that some row has
    double quality = 0.0;      // −Σ impurity · weight, or the weight of the rows that are right
    std::vector<double> left;  // the weight of each class on the left
};

// Columns of codes, arranged for the search: those of few codes as they are, for histograms; the
// others by the rows in the order of their codes.
class StumpColumns {
public:
    explicit StumpColumns(Index rows) : rows_(rows) {}

    Index rows() const { return rows_; }
    Index count() const { return static_cast<Index>(columns_.size()); }

    // Add a column of codes below `levels`. Rows are numbered in 31 bits.
    template <class Code>
    void add(const Code* codes, Index levels);

    // The best split for weights ≥ 0 of rows in classes 0 … class_count − 1. Of equal ones that of
    // the first column and the lowest code.
    StumpSplit best(const double* weights, const std::int32_t* classes, Index class_count,
                    StumpCriterion criterion, const Context& context) const;

private:
    struct Column {
        std::vector<std::uint32_t> present;  // the codes that some row has, rising
        std::vector<std::uint8_t> codes;     // of each row: its position in `present`
        std::vector<std::uint32_t> order;    // 2·row, plus 1 for the last row of its code
    };
    struct Weighted;

    StumpSplit best_of_two(const Column& column, const Weighted& rows) const;
    StumpSplit best_of_many(const Column& column, const Weighted& rows) const;

    Index rows_;
    std::vector<Column> columns_;
};

}  // namespace gapless
