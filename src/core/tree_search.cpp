#include "tree_search.hpp"

#include "tree_numbers.hpp"

namespace gapless::growing {

namespace {

// The first principal component of the rows of a table (rows × width, weighted): their projections,
// in place of keys by which the best subset of categories is nearly always a first part of the
// order (Coppersmith, Hong and Hosking 1999). By power iteration from a fixed start.
void principal_keys(std::vector<double>& table, const std::vector<double>& weights, Index width,
                    std::vector<double>& keys) {
    auto rows = static_cast<Index>(weights.size());
    std::vector<double> mean(width, 0.0), direction(width), next(width);
    double total = 0;
    for (Index i = 0; i < rows; ++i) {
        total += weights[i];
        for (Index c = 0; c < width; ++c) mean[c] += weights[i] * table[i * width + c];
    }
    for (Index i = 0; i < rows; ++i)
        for (Index c = 0; c < width; ++c) table[i * width + c] -= mean[c] / total;
    for (Index c = 0; c < width; ++c) direction[c] = 1.0 / static_cast<double>(c + 1);
    auto project = [&](Index i) {
        double sum = 0;
        for (Index c = 0; c < width; ++c) sum += table[i * width + c] * direction[c];
        return sum;
    };
    constexpr int rounds = 50;
    for (int round = 0; round < rounds; ++round) {
        std::fill(next.begin(), next.end(), 0.0);
        for (Index i = 0; i < rows; ++i) {
            double along = weights[i] * project(i);
            for (Index c = 0; c < width; ++c) next[c] += along * table[i * width + c];
        }
        double norm = 0;
        for (double x : next) norm = std::max(norm, std::abs(x));
        if (norm == 0) break;
        for (Index c = 0; c < width; ++c) direction[c] = next[c] / norm;
    }
    for (Index i = 0; i < rows; ++i) keys[i] = project(i);
}

}  // namespace

// ---- groups ----

template <class Target>
void ColumnSearch<Target>::fill_table(const NodeRows& node, const Node& targets,
                                      const CodedColumn& column) {
    Index width = target_.cells(), size = (column.count + 1) * width;
    // A row that adds to the cell of the row before it waits for that sum: few cells are kept in
    // four copies, which the rows take in turn.
    constexpr Index few = 64, copies = 4;
    Index used = size <= few ? copies * size : size;
    if (static_cast<Index>(cells_.size()) < used) cells_.resize(used, 0);
    Cell* cells = cells_.data();
    with_codes(column, [&](const auto* codes) {
        Index i = 0;
        if (size <= few)
            for (; i + copies <= node.count; i += copies)
                for (Index k = 0; k < copies; ++k)
                    target_.add(targets, i + k, cells + k * size + codes[node.rows[i + k]] * width);
        for (; i < node.count; ++i)
            target_.add(targets, i, cells + static_cast<Index>(codes[node.rows[i]]) * width);
    });
    if (size <= few)
        for (Index k = size; k < copies * size; ++k) {
            cells[k % size] += cells[k];
            cells[k] = 0;
        }
    groups_.clear();
    for (std::uint32_t code = 0; code <= column.count; ++code)
        if (!target_.is_empty(cells + code * width)) groups_.push_back({code, 0, 0});
    if (options_.min_samples_leaf <= 1) return;
    counts_.assign(column.count + 1, 0);
    with_codes(column, [&](const auto* codes) {
        for (Index i = 0; i < node.count; ++i)
            counts_[codes[node.rows[i]]] += node.counts[node.rows[i]];
    });
}

template <class Target>
void ColumnSearch<Target>::fill_ordered(const NodeRows& node, const Node& targets,
                                        const CodedColumn& column) {
    sorter_.fit(node.count, column.count + 1);
    with_codes(column,
               [&](const auto* codes) { sorter_.sort(codes, node.rows, node.count, groups_); });
    if (!column.is_category) return;
    auto size = static_cast<std::size_t>(node.count * target_.cells());
    if (cells_.size() < size) cells_.resize(size, 0);
    for (const Group& group : groups_)
        for (std::uint32_t k = group.begin; k < group.end; ++k)
            target_.add(targets, sorter_.order()[k], cells_.data() + cell_of(group));
}

template <class Target>
void ColumnSearch<Target>::order_levels(const Node& targets, std::size_t groups) {
    Index width = target_.cells();
    std::vector<double> weights(groups);
    profile_.resize(groups * width);
    keys_.resize(groups);
    for (std::size_t g = 0; g < groups; ++g)
        weights[g] = target_.profile(targets, cells_.data() + cell_of(groups_[g]),
                                     profile_.data() + g * width);
    if (target_.is_ordered_by_one())
        for (std::size_t g = 0; g < groups; ++g)
            keys_[g] = profile_[g * width + target_.deciding_cell()];
    else
        principal_keys(profile_, weights, width, keys_);
    std::vector<std::size_t> order(groups);
    std::iota(order.begin(), order.end(), std::size_t{0});
    // Stable: levels that look alike stay in their own order.
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return keys_[a] < keys_[b]; });
    std::vector<Group> sorted(groups);
    for (std::size_t g = 0; g < groups; ++g) sorted[g] = groups_[order[g]];
    std::copy(sorted.begin(), sorted.end(), groups_.begin());
}

template <class Target>
void ColumnSearch<Target>::clear_cells() {
    for (const Group& group : groups_)
        std::fill_n(cells_.data() + cell_of(group), target_.cells(), Cell{0});
}

template <class Target>
void ColumnSearch<Target>::move(const NodeRows& node, const Group& group) {
    bool counts = options_.min_samples_leaf > 1;
    if (form_ == Form::table) {
        sides_.move_cells(cells_.data() + cell_of(group));
        if (counts) count_left_ += counts_[group.code];
        return;
    }
    for (std::uint32_t k = group.begin; k < group.end; ++k) {
        std::uint32_t i = sorter_.order()[k];
        sides_.move(i);
        if (counts) count_left_ += node.counts[node.rows[i]];
    }
}

// ---- places ----

template <class Target>
void ColumnSearch<Target>::consider(const NodeRows& node, std::int32_t j, std::size_t place,
                                    bool missing_left, Split& best) {
    if (options_.min_samples_leaf > 1 && (count_left_ < options_.min_samples_leaf ||
                                          node.total - count_left_ < options_.min_samples_leaf))
        return;
    if (options_.min_weight_leaf > 0 && (sides_.left_weight() < options_.min_weight_leaf ||
                                         sides_.right_weight() < options_.min_weight_leaf))
        return;
    if (options_.monotonic) {
        double left = sides_.left_center(), right = sides_.right_center();
        bool is_inside = std::min(left, right) >= node.bounds.lower &&
                         std::max(left, right) <= node.bounds.upper;
        if (!is_inside || (left - right) * options_.monotonic[j] > 0) return;
    }
    double score = sides_.score();
    if (!(score > best.score)) return;
    best.score = score;
    best.column = j;
    best.missing_left = missing_left;
    best_place_ = place;
    if (options_.monotonic) {
        best.left_center = sides_.left_center();
        best.right_center = sides_.right_center();
    }
    if (options_.criterion == Criterion::gain_ratio)
        best.information = target_.split_information(sides_.left_weight(), sides_.right_weight());
}

template <class Target>
void ColumnSearch<Target>::try_places(const NodeRows& node, const Node& targets, std::int32_t j,
                                      Split& best) {
    std::size_t values = groups_.size() - has_missing_;
    for (int missing_left = 0; missing_left <= (has_missing_ ? 1 : 0); ++missing_left) {
        sides_.start(target_, targets);
        count_left_ = 0;
        if (missing_left) move(node, groups_.back());
        // All values against the missing ones is a place too.
        std::size_t places = has_missing_ && !missing_left ? values : values - 1;
        for (std::size_t place = 0; place < places; ++place) {
            move(node, groups_[place]);
            consider(node, j, place, missing_left, best);
        }
    }
}

template <class Target>
void ColumnSearch<Target>::try_random(const NodeRows& node, const Node& targets, std::int32_t j,
                                      Split& best) {
    const CodedColumn& column = data_.columns[j];
    KeyedRandom random(KeyedRandom::key(node.seed, static_cast<std::uint64_t>(j)));
    std::size_t values = groups_.size() - has_missing_, place = 0;
    bool missing_left = has_missing_ && values > 1 && random.below(2);
    double threshold = std::numeric_limits<double>::infinity();
    if (values > 1 && column.is_category) {
        for (std::size_t g = values - 1; g > 0; --g)
            std::swap(groups_[g], groups_[random.below(g + 1)]);
        place = random.below(values - 1);
    } else if (values > 1) {
        double low = column.lowest[groups_[0].code],
               high = column.highest[groups_[values - 1].code];
        threshold = low + random.uniform() * (high - low);
        if (!(threshold < high)) threshold = low;
        while (place + 2 < values && column.highest[groups_[place + 1].code] <= threshold) ++place;
        // Inside a bin there is no threshold that keeps its rows together: take its lower end.
        if (threshold < column.highest[groups_[place].code] ||
            threshold >= column.lowest[groups_[place + 1].code])
            threshold = column.highest[groups_[place].code];
    }
    sides_.start(target_, targets);
    count_left_ = 0;
    if (missing_left) move(node, groups_.back());
    for (std::size_t g = 0; g <= place; ++g) move(node, groups_[g]);
    consider(node, j, place, missing_left, best);
    best.threshold = threshold;
}

template <class Target>
double ColumnSearch<Target>::threshold_after(const CodedColumn& column, std::size_t place) const {
    if (place + 1 >= groups_.size() - has_missing_) return std::numeric_limits<double>::infinity();
    double below = column.highest[groups_[place].code];
    double above = column.lowest[groups_[place + 1].code];
    double middle = below / 2 + above / 2;
    return middle < above ? middle : below;
}

template <class Target>
bool ColumnSearch<Target>::search(const NodeRows& node, const Node& targets, std::int32_t j,
                                  Split& best) {
    const CodedColumn& column = data_.columns[j];
    form_ = form(column, node.count);
    if (form_ == Form::table)
        fill_table(node, targets, column);
    else
        fill_ordered(node, targets, column);
    bool has_filled = form_ == Form::table || column.is_category;
    bool is_constant = groups_.size() < 2;
    if (!is_constant) {
        has_missing_ = groups_.back().code == column.count;
        if (column.is_category) order_levels(targets, groups_.size() - has_missing_);
        if (options_.random_thresholds)
            try_random(node, targets, j, best);
        else
            try_places(node, targets, j, best);
    }
    if (best.column == j && !is_constant) {
        best.has_missing = has_missing_;
        best.left_code = groups_[best_place_].code;
        if (column.is_category) {
            best.threshold = std::numeric_limits<double>::quiet_NaN();
            for (std::size_t g = 0; g <= best_place_; ++g)
                best.left_levels.push_back(groups_[g].code);
        } else if (!options_.random_thresholds) {
            best.threshold = threshold_after(column, best_place_);
        }
    }
    if (has_filled) clear_cells();
    return !is_constant;
}

template class ColumnSearch<Classes<std::uint32_t>>;
template class ColumnSearch<Classes<std::int64_t>>;
template class ColumnSearch<Sums>;
template class ColumnSearch<Medians>;

}  // namespace gapless::growing
