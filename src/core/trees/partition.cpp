#include "trees/partition.hpp"

#include "trees/order.hpp"

namespace gapless::growing {

Index part_rows(const CodedColumn& column, const Split& split, std::uint32_t* rows, Index count,
                std::vector<std::uint32_t>& buffer) {
    if (static_cast<Index>(buffer.size()) < count) buffer.resize(count);
    Index left = 0, right = 0;
    auto part = [&](auto goes_left) {
        for (Index i = 0; i < count; ++i) {
            std::uint32_t row = rows[i];
            bool is_left = goes_left(row);
            rows[left] = row;
            buffer[right] = row;
            left += is_left;
            right += !is_left;
        }
    };
    with_codes(column, [&](const auto* codes) {
        if (!column.is_category) {
            std::uint32_t last = split.left_code, missing = column.count;
            bool missing_left = split.missing_left;
            if (split.has_missing && missing_left)
                part(
                    [=](std::uint32_t row) { return codes[row] <= last || codes[row] == missing; });
            else
                part([=](std::uint32_t row) { return codes[row] <= last; });
            return;
        }
        std::vector<char> is_left(column.count + 1, 0);
        for (std::uint32_t level : split.left_levels) is_left[level] = 1;
        is_left[column.count] = split.missing_left;
        part([&](std::uint32_t row) { return is_left[codes[row]] != 0; });
    });
    std::copy_n(buffer.data(), right, rows + left);
    return left;
}

void write_levels(const CodedColumn& column, const Split& split, const std::uint32_t* rows,
                  Index count, TreeNode& grown, std::vector<std::uint32_t>& sets) {
    std::vector<std::uint32_t> words(column.count / 32 + 1, 0);
    auto set = [&](std::uint32_t level) { words[level / 32] |= 1u << (level % 32); };
    for (std::uint32_t level : split.left_levels) set(level);
    if (grown.missing_left) {
        std::vector<char> is_here(column.count + 1, 0);
        with_codes(column, [&](const auto* codes) {
            for (Index i = 0; i < count; ++i) is_here[codes[rows[i]]] = 1;
        });
        for (std::uint32_t level = 0; level < column.count; ++level)
            if (!is_here[level]) set(level);
    }
    grown.set_begin = static_cast<std::int64_t>(sets.size());
    sets.insert(sets.end(), words.begin(), words.end());
    grown.set_end = static_cast<std::int64_t>(sets.size());
}

GrownTree joined(const GrownTree& top, const std::vector<GrownTree>& branches, Index width) {
    struct Place {
        const GrownTree* tree;
        std::int32_t id, parent;
        bool is_left;
    };
    if (top.nodes.empty()) return branches[0];
    GrownTree out;
    std::vector<Place> waiting{{&top, 0, -1, false}};
    while (!waiting.empty()) {
        Place place = waiting.back();
        waiting.pop_back();
        if (place.id <= -2) place = {&branches[-2 - place.id], 0, place.parent, place.is_left};
        TreeNode node = place.tree->nodes[place.id];
        auto id = static_cast<std::int32_t>(out.nodes.size());
        if (place.parent >= 0)
            (place.is_left ? out.nodes[place.parent].left : out.nodes[place.parent].right) = id;
        if (node.feature >= 0) {
            waiting.push_back({place.tree, node.right, id, false});
            waiting.push_back({place.tree, node.left, id, true});
        }
        const auto& sets = place.tree->sets;
        auto set_begin = static_cast<std::int64_t>(out.sets.size());
        out.sets.insert(out.sets.end(), sets.begin() + node.set_begin, sets.begin() + node.set_end);
        node.set_begin = set_begin;
        node.set_end = static_cast<std::int64_t>(out.sets.size());
        out.nodes.push_back(node);
        auto value = place.tree->values.begin() + place.id * width;
        out.values.insert(out.values.end(), value, value + width);
    }
    return out;
}

}  // namespace gapless::growing
