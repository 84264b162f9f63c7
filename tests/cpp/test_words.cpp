// Words at the ends of texts, of parts and of tables of hashes, in one byte and in several.
#include <string>
#include <vector>

#include "check.hpp"
#include "text/words.hpp"

using namespace gapless;

namespace {

const Blas blas{};
const Poll never;
// a-z, é, and a letter of four bytes
const std::vector<std::int32_t> letters{'a', 'z' + 1, 0xe9, 0xea, 0x10400, 0x10401};

struct Counted {
    std::vector<std::int64_t> start;
    std::vector<std::int32_t> index;
    std::vector<double> count;
    std::string words;
};

Counted counted(const std::vector<std::string>& given, Index longest = 1, int threads = 1,
                const std::vector<std::string>& stops = {}) {
    std::string joined;
    std::vector<std::int64_t> start{0};
    for (const std::string& text : given) {
        joined += text;
        start.push_back(static_cast<std::int64_t>(joined.size()));
    }
    Alphabet alphabet(letters.data(), static_cast<Index>(letters.size()) / 2);
    Lexicon stop_words;
    for (const std::string& word : stops) stop_words.number(word);
    Context context{blas, threads, never};
    WordCounts counts(Texts{joined.data(), start.data(), static_cast<Index>(given.size())},
                      Wording{alphabet, stop_words, 1, longest}, context);
    Counted result{std::vector<std::int64_t>(given.size() + 1),
                   std::vector<std::int32_t>(counts.entries()),
                   std::vector<double>(counts.entries()), std::string(counts.letters(), '?')};
    counts.write(result.start.data(), result.index.data(), result.count.data(), result.words.data(),
                 context);
    return result;
}

void test_tokens() {
    CHECK(counted({}).words.empty());
    CHECK(counted({"", "x 7 y"}).words.empty());
    CHECK(counted({"bc ab,bc", "ab"}).words == "ab\nbc\n");
    CHECK(counted({"bc ab,bc"}).count == (std::vector<double>{1, 2}));
    CHECK(counted({"\xc3\xa9x \xc3\xa9 \xf0\x90\x90\x80\xc3\xa9"}).words ==
          "\xc3\xa9x\n\xf0\x90\x90\x80\xc3\xa9\n");
    // A letter of two bytes is one character, and too short; others part words.
    CHECK(counted({"\xc3\xa9",
                   "ab\xe2\x82\xac"
                   "cd"})
              .words == "ab\ncd\n");
}

void test_neighbours() {
    Counted two = counted({"ab c de", "de ab de"}, 2);
    CHECK(two.words == "ab\nab de\nde\nde ab\n");
    CHECK(two.start == (std::vector<std::int64_t>{0, 3, 7}));
    CHECK(two.count == (std::vector<double>{1, 1, 1, 1, 1, 2, 1}));
    CHECK(counted({"ab de fg"}, 2, 1, {"de"}).words == "ab\nab fg\nfg\n");
}

// Many words over many parts: the same for any number of threads, each word in its own column.
void test_parts() {
    std::vector<std::string> texts;
    for (Index i = 0; i < 3000; ++i) {
        std::string text;
        for (Index k = 0; k < 100; ++k) {
            std::string word = "longwordof";
            for (Index rest = (31 * i + 7 * k) % 5000; rest > 0; rest /= 26)
                word += static_cast<char>('a' + rest % 26);
            text += word + " ";
        }
        texts.push_back(text);
    }
    Counted one = counted(texts), two = counted(texts, 1, 2);
    CHECK(one.words == two.words && one.index == two.index && one.count == two.count);
    CHECK(one.start == two.start && one.start.back() == 300000);
    for (std::size_t i = 0; i + 1 < one.start.size(); ++i)
        for (auto k = one.start[i] + 1; k < one.start[i + 1]; ++k)
            CHECK(one.index[k - 1] < one.index[k]);
}

void test_stopping() {
    std::string text(1 << 22, 'a');
    for (std::size_t k = 5; k < text.size(); k += 6) text[k] = ' ';
    Alphabet alphabet(letters.data(), 1);
    Lexicon stops;
    const std::vector<std::int64_t> start{0, static_cast<std::int64_t>(text.size())};
    Poll stop = [] { return true; };
    bool stopped = false;
    try {
        for (int i = 0; i < 1000; ++i)
            WordCounts(Texts{text.data(), start.data(), 1}, Wording{alphabet, stops, 1, 1},
                       Context{blas, 1, stop});
    } catch (const Stopped&) {
        stopped = true;
    }
    CHECK(stopped);
}

}  // namespace

int main() {
    test_tokens();
    test_neighbours();
    test_parts();
    test_stopping();
    return report();
}
