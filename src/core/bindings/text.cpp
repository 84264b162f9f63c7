// Python bindings of counting words.
#include "bindings/bindings.hpp"
#include "text/words.hpp"

namespace gapless {
namespace {

Texts texts_of(const VectorIn<std::uint8_t>& letters, const VectorIn<std::int64_t>& start) {
    const Index count = extent(start, 0) - 1;
    check(count >= 0 && start.data()[0] == 0 && start.data()[count] == extent(letters, 0),
          "start must have one more entry than there are texts, from 0 to the end of the letters");
    for (Index i = 0; i < count; ++i)
        check(start.data()[i] <= start.data()[i + 1], "start must not fall");
    return {reinterpret_cast<const char*>(letters.data()), start.data(), count};
}

Alphabet alphabet_of(const MatrixIn<std::int32_t>& ranges) {
    check(extent(ranges, 1) == 2, "ranges of characters must be pairs");
    for (Index k = 0; k < 2 * extent(ranges, 0); ++k)
        check(0 <= ranges.data()[k] && ranges.data()[k] <= 0x110000, "there is no such character");
    return {ranges.data(), extent(ranges, 0)};
}

void count_words(WordCounts* self, const VectorIn<std::uint8_t>& letters,
                 const VectorIn<std::int64_t>& start, const MatrixIn<std::int32_t>& alphabet,
                 const VectorIn<std::uint8_t>& stop_letters,
                 const VectorIn<std::int64_t>& stop_start, std::pair<Index, Index> sizes,
                 int threads, double deadline) {
    check(1 <= sizes.first && sizes.first <= sizes.second, "sizes must be 1 or more, and rise");
    const Texts texts = texts_of(letters, start), stop_words = texts_of(stop_letters, stop_start);
    const Alphabet characters = alphabet_of(alphabet);
    Lexicon stops;
    for (Index i = 0; i < stop_words.count; ++i) stops.number(stop_words[i]);
    run(threads, deadline, [&](const Context& context) {
        new (self)
            WordCounts(texts, Wording{characters, stops, sizes.first, sizes.second}, context);
    });
}

void write(const WordCounts& counts, const VectorOut<std::int64_t>& start,
           const VectorOut<std::int32_t>& index, const VectorOut<double>& count,
           const VectorOut<std::uint8_t>& words, int threads, double deadline) {
    check(extent(start, 0) == counts.texts() + 1 && extent(index, 0) == counts.entries() &&
              extent(count, 0) == counts.entries() && extent(words, 0) == counts.letters(),
          "the arrays must have the sizes of the counts");
    run(threads, deadline, [&](const Context& context) {
        counts.write(start.data(), index.data(), count.data(),
                     reinterpret_cast<char*>(words.data()), context);
    });
}

}  // namespace

void define_text_functions(nb::module_& m) {
    nb::class_<WordCounts>(m, "WordCounts")
        .def("__init__", &count_words, array("letters"), array("start"), array("alphabet"),
             array("stop_letters"), array("stop_start"), "sizes"_a, "threads"_a, "deadline"_a)
        .def_prop_ro("entries", &WordCounts::entries)
        .def_prop_ro("letters", &WordCounts::letters)
        .def("write", &write, array("start"), array("index"), array("count"), array("words"),
             "threads"_a, "deadline"_a);
}

}  // namespace gapless
