// Texts to counts of their words: splitting, hashing and sorting, which take most of the time to
// fit a text model in Python.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/products.hpp"

namespace gapless {

// The characters that words consist of, by their Unicode code point.
class Alphabet {
public:
    // `ranges` holds pairs: the first character of a range, and the first one beyond it.
    Alphabet(const std::int32_t* ranges, Index count);

    bool has(std::uint32_t character) const {
        return bits_[character >> 6] >> (character & 63) & 1;
    }

private:
    std::vector<std::uint64_t> bits_;
};

// Distinct words, numbered 0, 1, … in the order in which they were first seen.
class Lexicon {
public:
    Lexicon() : slots_(64, free_slot) {}

    Index size() const { return static_cast<Index>(entries_.size()); }
    std::string_view word(Index number) const {
        const Entry& entry = entries_[number];
        return {letters_.data() + entry.begin, entry.length};
    }
    std::size_t hash(Index number) const { return entries_[number].hash; }
    static std::size_t hash(std::string_view word) { return std::hash<std::string_view>{}(word); }

    // The number of a word; a word not seen before gets a new one.
    std::int32_t number(std::string_view word, std::size_t hash);
    std::int32_t number(std::string_view word) { return number(word, hash(word)); }
    bool has(std::string_view word) const { return slots_[slot(word, hash(word))] != free_slot; }

private:
    struct Entry {
        std::size_t hash, begin, length;
    };
    static constexpr std::int32_t free_slot = -1;

    std::size_t slot(std::string_view word, std::size_t hash) const;
    void grow();

    std::string letters_;
    std::vector<Entry> entries_;
    std::vector<std::int32_t> slots_;  // a power of two, at most half of them taken
};

// Texts one after another in UTF-8; text i is between start[i] and start[i + 1].
struct Texts {
    const char* letters;
    const std::int64_t* start;
    Index count;

    std::string_view operator[](Index i) const {
        return {letters + start[i], static_cast<std::size_t>(start[i + 1] - start[i])};
    }
};

// The definition of a word: `shortest` to `longest` neighbouring tokens, separated by a space,
// where a token is a run of two or more characters of the alphabet that is not a stop word.
struct Wording {
    const Alphabet& alphabet;
    const Lexicon& stop_words;
    Index shortest, longest;
};

// How often each word occurs in each text: a sparse matrix with a row for each text, and a column
// for each word in the order of their code points.
class WordCounts {
public:
    WordCounts(const Texts& texts, const Wording& wording, const Context& context);

    Index texts() const { return texts_; }
    Index entries() const { return entries_; }
    // The length of all words, each followed by a line break.
    Index letters() const;

    // The rows as (start, index, count), indices rising, and the words.
    void write(std::int64_t* start, std::int32_t* index, double* count, char* words,
               const Context& context) const;

private:
    // Consecutive texts. Entries of a text are in the order of its words.
    struct Part {
        Index first = 0, last = 0;
        Lexicon lexicon;
        std::vector<std::int32_t> word, count;
        std::vector<Index> end;             // of the entries of each text
        std::vector<std::int32_t> columns;  // of each word of the part, among all
    };

    static void count_words(Part& part, const Texts& texts, const Wording& wording,
                            Checkpoint& checkpoint);
    void merge(const Poll& poll);

    Index texts_, entries_ = 0;
    std::vector<Part> parts_;
    Lexicon all_;
    std::vector<std::int32_t> words_;  // numbers in `all_`, in the order of the columns
};

}  // namespace gapless
