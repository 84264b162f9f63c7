#include "trees/splits.hpp"

#include "trees/numbers.hpp"

namespace gapless::growing {

namespace {

// The first principal component of the rows of a table (rows × width, weighted): their projections
// are keys for which the best subset of categories is nearly always a first part of the order
// (Coppersmith, Hong and Hosking 1999). By power iteration from a fixed start.
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

// The middle between the values of two codes, or the lower value if there is none.
double threshold_between(const CodedColumn& column, std::uint32_t below, std::uint32_t above) {
    double low = column.highest[below], high = column.lowest[above];
    double middle = low / 2 + high / 2;
    return middle < high ? middle : low;
}

// A threshold between the values of two codes.
double drawn_threshold(const CodedColumn& column, std::uint32_t low, std::uint32_t high,
                       KeyedRandom& random) {
    double smallest = column.lowest[low], largest = column.highest[high];
    double threshold = smallest + random.uniform() * (largest - smallest);
    return threshold < largest ? threshold : smallest;
}

// Inside a bin no threshold keeps its rows together: then it is the end of the bin below.
void keep_threshold(const CodedColumn& column, double threshold, std::uint32_t left,
                    std::uint32_t right, Split& split) {
    bool is_inside = threshold < column.highest[left] || threshold >= column.lowest[right];
    split.left_code = left;
    split.threshold = is_inside ? column.highest[left] : threshold;
}

// The same if the codes of all rows are known.
void part_codes(const CodedColumn& column, double threshold, std::span<const std::uint32_t> codes,
                std::uint32_t low, std::uint32_t high, Split& split) {
    // Up to this many values are looked up faster by a scan than by bisection.
    constexpr std::size_t few = 32;
    if (codes.size() > few) {
        const double* above =
            std::upper_bound(column.highest + low, column.highest + high, threshold);
        auto right = std::max(static_cast<std::uint32_t>(above - column.highest), low + 1);
        keep_threshold(column, threshold, right - 1, right, split);
        return;
    }
    std::uint32_t left = low, right = high;
    for (std::uint32_t code : codes) {
        if (code > high) continue;  // missing
        if (column.highest[code] <= threshold)
            left = std::max(left, code);
        else if (code > low)
            right = std::min(right, code);
    }
    keep_threshold(column, threshold, left, right, split);
}

}  // namespace

// ---- groups ----

// Add all rows to the cells of their codes, and to the counts if leaves need several rows.
template <class Target>
template <class Code>
void ColumnSearch<Target>::count_codes(const Code* codes, std::uint32_t size, const NodeRows& node,
                                       const Node& targets, std::vector<Cell>& cells,
                                       std::vector<std::int64_t>& counts) {
    Index width = target_.cells(), used = size * width;
    // A row that adds to the cell of the row before it waits for that sum: few cells are kept in
    // four copies, which the rows use in turn.
    constexpr Index few = 1024, copies = 4, rows_per_cell = 4;
    bool has_copies = used <= few && node.count >= rows_per_cell * used;
    Index needed = has_copies ? copies * used : used;
    if (static_cast<Index>(cells.size()) < needed) cells.resize(needed, 0);
    const std::uint32_t* rows = node.rows;
    const Index count = node.count;
    Cell* cell = cells.data();
    target_.with_adder(targets, [&, rows, count, cell, used, width](auto add) {
        Index i = 0;
        if (has_copies)
            for (; i + copies <= count; i += copies)
                for (Index k = 0; k < copies; ++k)
                    add(i + k, cell + k * used + static_cast<Index>(codes[rows[i + k]]) * width);
        for (; i < count; ++i) add(i, cell + static_cast<Index>(codes[rows[i]]) * width);
    });
    if (has_copies)
        for (Index k = 1; k < copies; ++k)
            for (Index c = 0; c < used; ++c) {
                cell[c] += cell[k * used + c];
                cell[k * used + c] = 0;
            }
    if (options_.min_samples_leaf <= 1) return;
    counts.assign(size, 0);
    for (Index k = 0; k < node.count; ++k) counts[codes[rows[k]]] += node.counts[rows[k]];
}

template <class Target>
void ColumnSearch<Target>::fill_table(const NodeRows& node, const Node& targets,
                                      const CodedColumn& column) {
    with_codes(column, [&](const auto* codes) {
        count_codes(codes, column.count + 1, node, targets, cells_, counts_);
    });
    list_groups(column);
}

template <class Target>
void ColumnSearch<Target>::list_groups(const CodedColumn& column) {
    groups_.clear();
    for (std::uint32_t code = 0; code <= column.count; ++code)
        if (!target_.is_empty(cells_.data() + code * target_.cells()))
            groups_.push_back({code, 0, 0});
}

// The table of a column from that of its bundle, which is computed once for all columns in it.
template <class Target>
void ColumnSearch<Target>::fill_bundled(const NodeRows& node, const Node& targets,
                                        const CodedColumn& column) {
    const Bundle& bundle = data_.bundles[column.bundle];
    BundleTable& table = bundles_[column.bundle];
    Index width = target_.cells();
    if (table.node != node.number) {
        Index used = std::min<Index>(bundle.count * width, static_cast<Index>(table.cells.size()));
        std::fill_n(table.cells.begin(), used, Cell{0});
        count_codes(bundle.codes, bundle.count, node, targets, table.cells, table.counts);
        table.node = node.number;
    }
    Index size = (column.count + 1) * width;
    if (static_cast<Index>(cells_.size()) < size) cells_.resize(size, 0);
    bool counts = options_.min_samples_leaf > 1;
    if (counts) counts_.assign(column.count + 1, 0);
    Cell* usual = cells_.data() + column.usual * width;
    target_.total(targets, usual);
    if (counts) counts_[column.usual] = node.total;
    std::uint32_t from = column.first;
    for (std::uint32_t code = 0; code <= column.count; ++code) {
        if (code == column.usual) continue;
        const Cell* source = table.cells.data() + from * width;
        Cell* cell = cells_.data() + code * width;
        for (Index c = 0; c < width; ++c) {
            cell[c] = source[c];
            usual[c] -= source[c];
        }
        if (counts) {
            counts_[code] = table.counts[from];
            counts_[column.usual] -= table.counts[from];
        }
        ++from;
    }
    list_groups(column);
    // An empty cell may still hold what it was computed from.
    if (target_.is_empty(usual)) std::fill_n(usual, width, Cell{0});
}

// The cells of ordered groups, which determine the order of categories.
template <class Target>
void ColumnSearch<Target>::add_levels(const NodeRows& node, const Node& targets) {
    auto size = static_cast<std::size_t>(node.count * target_.cells());
    if (cells_.size() < size) cells_.resize(size, 0);
    target_.with_adder(targets, [&](auto add) {
        for (const Group& group : groups_)
            for (std::uint32_t k = group.begin; k < group.end; ++k)
                add(sorter_.order()[k], cells_.data() + cell_of(group));
    });
}

// Fill groups_, and the cells if there are any; returns false if there is only one group.
template <class Target>
bool ColumnSearch<Target>::find_groups(const NodeRows& node, const Node& targets,
                                       const CodedColumn& column) {
    if (form_ == Form::ordered) {
        sorter_.list_groups(groups_);
        if (column.is_category) add_levels(node, targets);
        return true;
    }
    if (Target::has_cells && column.bundle >= 0)
        fill_bundled(node, targets, column);
    else
        fill_table(node, targets, column);
    if (groups_.size() > 1) return true;
    clear_cells();
    return false;
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
    // Stable: equal levels stay in their own order.
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

// Whether the two sides as they are now may become nodes.
template <class Target>
bool ColumnSearch<Target>::is_admissible(const NodeRows& node, std::int32_t j) const {
    if (is_plain_) return true;
    if (options_.min_samples_leaf > 1 && (count_left_ < options_.min_samples_leaf ||
                                          node.total - count_left_ < options_.min_samples_leaf))
        return false;
    if (options_.min_weight_leaf > 0 && (sides_.left_weight() < options_.min_weight_leaf ||
                                         sides_.right_weight() < options_.min_weight_leaf))
        return false;
    // Other columns may split freely: predictions are kept inside the bounds afterwards.
    if (!options_.monotonic || options_.monotonic[j] == 0) return true;
    double left = sides_.left_center(), right = sides_.right_center();
    return std::min(left, right) >= node.bounds.lower &&
           std::max(left, right) <= node.bounds.upper &&
           (left - right) * options_.monotonic[j] <= 0;
}

template <class Target>
void ColumnSearch<Target>::try_places(const NodeRows& node, const Node& targets, std::int32_t j,
                                      Split& best) {
    auto values = static_cast<Index>(groups_.size()) - has_missing_;
    if (is_plain_ && !has_missing_ && form_ == Form::table) {
        sides_.start_scan(target_, targets);
        sides_.scan_cells(groups_, cells_.data(), best_);
        return;
    }
    for (int missing_left = 0; missing_left <= (has_missing_ ? 1 : 0); ++missing_left) {
        double before = best_.score;
        sides_.start(target_, targets);
        count_left_ = 0;
        if (missing_left) move(node, groups_.back());
        // All values against the missing ones is a place too.
        Index places = has_missing_ && !missing_left ? values : values - 1;
        for (Index place = 0; place < places; ++place) {
            move(node, groups_[place]);
            if (is_admissible(node, j)) best_.offer(sides_.score(), place);
        }
        if (best_.score > before) best.missing_left = missing_left;
    }
}

template <class Target>
void ColumnSearch<Target>::try_random(const NodeRows& node, const Node& targets, std::int32_t j,
                                      Split& best) {
    const CodedColumn& column = data_.columns[j];
    KeyedRandom random(KeyedRandom::key(node.seed, static_cast<std::uint64_t>(j)));
    std::size_t values = groups_.size() - has_missing_, place = 0;
    bool missing_left = has_missing_ && values > 1 && random.below(2);
    best.threshold = std::numeric_limits<double>::infinity();
    if (values > 1 && column.is_category) {
        for (std::size_t g = values - 1; g > 0; --g)
            std::swap(groups_[g], groups_[random.below(g + 1)]);
        place = random.below(values - 1);
    } else if (values > 1) {
        double threshold =
            drawn_threshold(column, groups_[0].code, groups_[values - 1].code, random);
        while (place + 2 < values && column.highest[groups_[place + 1].code] <= threshold) ++place;
        keep_threshold(column, threshold, groups_[place].code, groups_[place + 1].code, best);
    }
    sides_.start(target_, targets);
    count_left_ = 0;
    if (missing_left) move(node, groups_.back());
    for (std::size_t g = 0; g <= place; ++g) move(node, groups_[g]);
    if (is_admissible(node, j)) best_.offer(sides_.score(), static_cast<Index>(place));
    best.missing_left = missing_left;
}

// The sides of a split, if they will be needed.
template <class Target>
void ColumnSearch<Target>::note_sides(Split& best) const {
    if (options_.monotonic) {
        best.left_center = sides_.left_center();
        best.right_center = sides_.right_center();
    }
    best.information = target_.split_information(sides_.left_weight(), sides_.right_weight());
}

// The same for a place found among others.
template <class Target>
void ColumnSearch<Target>::note_place(const NodeRows& node, const Node& targets, Split& best) {
    if (!options_.monotonic && options_.criterion != Criterion::gain_ratio) return;
    sides_.start(target_, targets);
    if (best.missing_left) move(node, groups_.back());
    for (Index g = 0; g <= best_.place; ++g) move(node, groups_[g]);
    note_sides(best);
}

// A threshold drawn between the smallest and the largest value: two passes, without sorting.
template <class Target>
bool ColumnSearch<Target>::search_random(const NodeRows& node, const Node& targets, std::int32_t j,
                                         Split& best) {
    const CodedColumn& column = data_.columns[j];
    if (static_cast<Index>(codes_.size()) < node.count) codes_.resize(node.count);
    std::uint32_t low = column.count, high = 0, missing = column.count;
    bool has_missing = false;
    with_codes(column, [&](const auto* codes) {
        for (Index i = 0; i < node.count; ++i) {
            std::uint32_t code = codes[node.rows[i]];
            codes_[i] = code;
            has_missing |= code == missing;
            low = std::min(low, code);
            high = std::max(high, code == missing ? 0 : code);
        }
    });
    if (low == missing || (low == high && !has_missing)) return false;
    KeyedRandom random(KeyedRandom::key(node.seed, static_cast<std::uint64_t>(j)));
    bool missing_left = has_missing && low < high && random.below(2);
    best.threshold = std::numeric_limits<double>::infinity();
    best.left_code = high;
    if (low < high)
        part_codes(column, drawn_threshold(column, low, high, random),
                   {codes_.data(), static_cast<std::size_t>(node.count)}, low, high, best);
    const LeftCodes left{best.left_code, missing, missing_left};
    Index width = target_.cells();
    if (static_cast<Index>(cells_.size()) < width) cells_.resize(width, 0);
    target_.add_left(targets, codes_.data(), node.count, left, cells_.data());
    count_left_ = 0;
    if (options_.min_samples_leaf > 1)
        for (Index i = 0; i < node.count; ++i)
            if (left.has(codes_[i])) count_left_ += node.counts[node.rows[i]];
    sides_.start(target_, targets);
    sides_.move_cells(cells_.data());
    std::fill_n(cells_.data(), width, Cell{0});
    if (is_admissible(node, j)) best_.offer(sides_.score(), 0);
    best.missing_left = missing_left;
    best.has_missing = has_missing;
    note_sides(best);
    return true;
}

// The best place of rows in order, none of them missing.
template <class Target>
void ColumnSearch<Target>::scan_sorted(const Node& targets, std::int32_t j, Split& best) {
    sides_.start_scan(target_, targets);
    sorter_.with_keys([&](const auto& sorted) {
        sides_.scan_rows(sorted, best_);
        if (!best_.is_found()) return;
        best.left_code = sorted.code(best_.place);
        best.threshold =
            threshold_between(data_.columns[j], best.left_code, sorted.code(best_.place + 1));
    });
}

// The best place among groups, with any missing values, categories and conditions.
template <class Target>
void ColumnSearch<Target>::search_groups(const NodeRows& node, const Node& targets, std::int32_t j,
                                         Split& best) {
    const CodedColumn& column = data_.columns[j];
    has_missing_ = groups_.back().code == column.count;
    auto values = static_cast<Index>(groups_.size()) - has_missing_;
    if (column.is_category) order_levels(targets, values);
    if (options_.random_thresholds)
        try_random(node, targets, j, best);
    else
        try_places(node, targets, j, best);
    if (best_.is_found()) {
        best.has_missing = has_missing_;
        best.left_code = groups_[best_.place].code;
        if (column.is_category) {
            best.threshold = std::numeric_limits<double>::quiet_NaN();
            for (Index g = 0; g <= best_.place; ++g) best.left_levels.push_back(groups_[g].code);
        } else if (!options_.random_thresholds) {
            best.threshold =
                best_.place + 1 < values
                    ? threshold_between(column, best.left_code, groups_[best_.place + 1].code)
                    : std::numeric_limits<double>::infinity();
        }
        note_place(node, targets, best);
    }
    if (form_ == Form::table || column.is_category) clear_cells();
}

template <class Target>
bool ColumnSearch<Target>::search(const NodeRows& node, const Node& targets, std::int32_t j,
                                  Split& best) {
    const CodedColumn& column = data_.columns[j];
    bool is_bundled = Target::has_cells && column.bundle >= 0;
    form_ = is_bundled ? Form::table : form(column, node.count);
    best_ = {};
    bool is_scanned = false;
    bool is_drawn = options_.random_thresholds && !column.is_category && !is_bundled;
    if (Target::has_cells && is_drawn) {
        if (!search_random(node, targets, j, best)) return false;
        is_scanned = true;
    } else if (form_ == Form::ordered) {
        if (!sorter_.sort(column, node.rows, node.count)) return false;
        std::uint32_t last = 0;
        sorter_.with_keys([&](const auto& sorted) { last = sorted.code(node.count - 1); });
        bool notes_sides = options_.criterion == Criterion::gain_ratio;
        is_scanned = is_plain_ && !column.is_category && last != column.count && !notes_sides;
        if (is_scanned) scan_sorted(targets, j, best);
    }
    if (!is_scanned) {
        if (!find_groups(node, targets, column)) return false;
        search_groups(node, targets, j, best);
    }
    if (best_.is_found()) {
        best.score = best_.score;
        best.column = j;
    }
    return true;
}

template class ColumnSearch<Classes<std::uint32_t>>;
template class ColumnSearch<Classes<std::int64_t>>;
template class ColumnSearch<Sums>;
template class ColumnSearch<Medians>;

}  // namespace gapless::growing
