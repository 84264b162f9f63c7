#include "text/words.hpp"

#include <algorithm>
#include <utility>

namespace gapless {

namespace {

constexpr std::uint32_t characters = 0x110000;
// Bytes of text per task: enough for its words to repeat.
constexpr Index part_size = Index{1} << 20;
// Words between two checks of the clock.
constexpr Index stride = 4096;

// The character at `at`, which moves beyond it. The text is valid UTF-8: it comes from Python.
std::uint32_t next_character(std::string_view text, std::size_t& at) {
    auto byte = [&] { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[at++])); };
    const std::uint32_t first = byte();
    if (first < 0x80) return first;
    auto more = [&](std::uint32_t so_far) { return so_far << 6 | (byte() & 0x3f); };
    if (first < 0xe0) return more(first & 0x1f);
    if (first < 0xf0) return more(more(first & 0x0f));
    return more(more(more(first & 0x07)));
}

// The tokens of a text, separated by spaces, so that neighbouring ones are contiguous as written.
struct Line {
    std::string letters;
    std::vector<std::size_t> begin, end;

    void clear() {
        letters.clear();
        begin.clear();
        end.clear();
    }
    void add(std::string_view token) {
        if (!letters.empty()) letters += ' ';
        begin.push_back(letters.size());
        letters += token;
        end.push_back(letters.size());
    }
    Index size() const { return static_cast<Index>(begin.size()); }
    std::string_view words(Index first, Index count) const {
        const std::size_t from = begin[first];
        return {letters.data() + from, end[first + count - 1] - from};
    }
};

void split(std::string_view text, const Wording& wording, Line& line, Checkpoint& checkpoint) {
    line.clear();
    const bool has_stop_words = wording.stop_words.size() > 0;
    Index seen = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t begin = at;
        std::size_t end = at;
        Index length = 0;
        while (at < text.size() && wording.alphabet.has(next_character(text, at))) {
            ++length;
            end = at;
        }
        if (++seen % stride == 0) checkpoint();
        if (length < 2) continue;
        const std::string_view token = text.substr(begin, end - begin);
        if (!has_stop_words || !wording.stop_words.has(token)) line.add(token);
    }
}

// The first eight bytes of a word as a number: most comparisons end there.
std::uint64_t leading(std::string_view word) {
    std::uint64_t key = 0;
    for (std::size_t k = 0; k < 8; ++k)
        key = key << 8 | (k < word.size() ? static_cast<unsigned char>(word[k]) : 0);
    return key;
}

// Texts first, first + 1, … of each part, about as many bytes in each.
std::vector<Index> divide(const Texts& texts) {
    std::vector<Index> first{0};
    for (Index i = 1; i < texts.count; ++i)
        if (texts.start[i] - texts.start[first.back()] >= part_size) first.push_back(i);
    first.push_back(texts.count);
    return first;
}

}  // namespace

Alphabet::Alphabet(const std::int32_t* ranges, Index count) : bits_(characters / 64) {
    for (Index r = 0; r < count; ++r)
        for (std::int32_t c = ranges[2 * r]; c < ranges[2 * r + 1]; ++c)
            bits_[c >> 6] |= std::uint64_t{1} << (c & 63);
}

std::size_t Lexicon::slot(std::string_view word, std::size_t hash) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash & mask;
    while (slots_[at] != free_slot) {
        const Entry& entry = entries_[slots_[at]];
        if (entry.hash == hash && this->word(slots_[at]) == word) break;
        at = (at + 1) & mask;
    }
    return at;
}

std::int32_t Lexicon::number(std::string_view word, std::size_t hash) {
    std::size_t at = slot(word, hash);
    if (slots_[at] != free_slot) return slots_[at];
    const auto number = static_cast<std::int32_t>(entries_.size());
    entries_.push_back({hash, letters_.size(), word.size()});
    letters_ += word;
    slots_[at] = number;
    if (2 * entries_.size() > slots_.size()) grow();
    return number;
}

void Lexicon::grow() {
    slots_.assign(2 * slots_.size(), free_slot);
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        std::size_t at = entries_[i].hash & mask;
        while (slots_[at] != free_slot) at = (at + 1) & mask;
        slots_[at] = static_cast<std::int32_t>(i);
    }
}

WordCounts::WordCounts(const Texts& texts, const Wording& wording, const Context& context)
    : texts_(texts.count) {
    const std::vector<Index> first = divide(texts);
    parts_.resize(first.size() - 1);
    for (std::size_t p = 0; p < parts_.size(); ++p) {
        parts_[p].first = first[p];
        parts_[p].last = first[p + 1];
    }
    parallel_for(static_cast<Index>(parts_.size()), context.threads, context.poll,
                 [&](Index p, Checkpoint& checkpoint) {
                     count_words(parts_[p], texts, wording, checkpoint);
                 });
    for (const Part& part : parts_) entries_ += static_cast<Index>(part.word.size());
    merge(context.poll);
}

void WordCounts::count_words(Part& part, const Texts& texts, const Wording& wording,
                             Checkpoint& checkpoint) {
    Line line;
    std::vector<Index> place;  // where the last entry of each word is
    Index seen = 0;
    for (Index i = part.first; i < part.last; ++i) {
        checkpoint();
        split(texts[i], wording, line, checkpoint);
        const auto begin = static_cast<Index>(part.word.size());
        for (Index size = wording.shortest; size <= wording.longest; ++size)
            for (Index t = 0; t + size <= line.size(); ++t) {
                const std::string_view word = line.words(t, size);
                const std::int32_t number = part.lexicon.number(word);
                if (number == static_cast<std::int32_t>(place.size())) place.push_back(-1);
                if (place[number] < begin) {
                    place[number] = static_cast<Index>(part.word.size());
                    part.word.push_back(number);
                    part.count.push_back(0);
                }
                ++part.count[place[number]];
                if (++seen % stride == 0) checkpoint();
            }
        part.end.push_back(static_cast<Index>(part.word.size()));
    }
}

// Numbers the words of all parts, in the order of the texts, and then by their spelling.
void WordCounts::merge(const Poll& poll) {
    Checkpoint checkpoint(poll);
    Index seen = 0;
    auto pause = [&] {
        if (++seen % stride == 0) checkpoint();
    };
    for (Part& part : parts_) {
        part.columns.resize(part.lexicon.size());
        for (Index k = 0; k < part.lexicon.size(); ++k, pause())
            part.columns[k] = all_.number(part.lexicon.word(k), part.lexicon.hash(k));
    }
    std::vector<std::pair<std::uint64_t, std::int32_t>> order(all_.size());
    for (Index k = 0; k < all_.size(); ++k)
        order[k] = {leading(all_.word(k)), static_cast<std::int32_t>(k)};
    // In UTF-8 the order of the bytes is that of the code points.
    std::sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
        pause();
        if (a.first != b.first) return a.first < b.first;
        return all_.word(a.second) < all_.word(b.second);
    });
    words_.resize(order.size());
    std::vector<std::int32_t> column(order.size());
    for (std::size_t k = 0; k < order.size(); ++k) {
        words_[k] = order[k].second;
        column[order[k].second] = static_cast<std::int32_t>(k);
    }
    for (Part& part : parts_)
        for (std::int32_t& number : part.columns) number = column[number];
}

Index WordCounts::letters() const {
    Index total = 0;
    for (Index k = 0; k < all_.size(); ++k) total += static_cast<Index>(all_.word(k).size()) + 1;
    return total;
}

void WordCounts::write(std::int64_t* start, std::int32_t* index, double* count, char* words,
                       const Context& context) const {
    for (std::int32_t number : words_) {
        const std::string_view word = all_.word(number);
        words = std::copy(word.begin(), word.end(), words);
        *words++ = '\n';
    }
    std::vector<Index> before{0};
    for (const Part& part : parts_)
        before.push_back(before.back() + static_cast<Index>(part.word.size()));
    start[0] = 0;
    parallel_for(static_cast<Index>(parts_.size()), context.threads, context.poll,
                 [&](Index p, Checkpoint& checkpoint) {
                     const Part& part = parts_[p];
                     std::vector<std::pair<std::int32_t, std::int32_t>> row;
                     for (Index i = part.first, k = 0; i < part.last; ++i) {
                         checkpoint();
                         const Index end = part.end[i - part.first];
                         row.clear();
                         for (; k < end; ++k)
                             row.emplace_back(part.columns[part.word[k]], part.count[k]);
                         std::sort(row.begin(), row.end());
                         start[i + 1] = before[p] + end;
                         Index at = start[i + 1] - static_cast<Index>(row.size());
                         for (const auto& [column, times] : row) {
                             index[at] = column;
                             count[at++] = times;
                         }
                     }
                 });
}

}  // namespace gapless
