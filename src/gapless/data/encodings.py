"""The encoding of a text, found from its bytes, and the same text in UTF-8.

UTF-8 and UTF-16 are recognised by their bytes. All others were mostly saved by a spreadsheet in the
encoding of its country. Each one that can decode the bytes gives different words; the one whose
words look most like words is taken, and of several the one that charset-normalizer finds least
messy. By itself that package is made for prose, and takes Western European words in a table for
Czech or Korean. Of 44 short tables in 22 encodings, written after the rules but before two of them
changed, it reads 22 correctly; these rules read 41 at first.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import IO

import charset_normalizer

from .findings import TableError
from .sources import BUFFER, SAMPLE_BYTES

BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Words judged for messiness: enough to see it.
MOST_WORDS = 500
# The share of words that must look better than as Western ones, which are most frequent.
BETTER = 0.1
# Encodings are equally good if as many words look like words, up to this share of them.
ALIKE = 0.02
# In UTF-8 with errors, at most this share of the characters beyond ASCII may be wrong.
WRONG_LETTERS = 0.1

WESTERN = "cp1252"
# Encodings of Latin characters, which are mixed with ASCII in a word.
LATIN = (WESTERN, "cp1250", "iso8859_2", "cp1257", "cp1254", "mac_roman", "cp850")
KANA, HAN, CYRILLIC = "\u3041-\u30fe", "\u4e00-\u9fff", "\u0401-\u0491"
# Encodings of other scripts, and a pattern of these; no ASCII character is among them. Ties go to
# the first: those with fewer characters come first.
OTHERS = {
    "cp932": f"[{KANA}{HAN}]+",
    "euc_jp": f"[{KANA}{HAN}]+",
    "gb18030": f"[{HAN}]+",
    "big5": f"[{HAN}]+",
    "cp949": "[\uac00-\ud7a3]+",
    "cp1255": "[\u05d0-\u05ea]+",
    "cp1251": f"[{CYRILLIC}]+",
    "koi8_r": f"[{CYRILLIC}]+",
    "cp866": f"[{CYRILLIC}]+",
    "cp1253": "[\u0386-\u03ce]+",
    "iso8859_5": f"[{CYRILLIC}]+",
    "cp1256": "[\u0621-\u06d2]+",
    "cp874": "[\u0e01-\u0e4e]+",
}
# The first bytes of common characters, if there are thousands.
COMMON = {
    "cp932": range(0x81, 0x99),
    "euc_jp": range(0xA4, 0xD0),
    "gb18030": range(0xB0, 0xD8),
    "big5": range(0xA4, 0xC7),
    "cp949": range(0xB0, 0xC9),
}
# Characters beyond ASCII of languages in Latin script: one table is mostly in one of them.
ALPHABETS = {
    "Catalan": "àçèéíïòóúü",
    "Croatian": "čćđšž",
    "Czech": "áčďéěíňóřšťúůýž",
    "Dutch": "äèéëïöü",
    "Estonian": "äõöüšž",
    "French": "àâæçèéêëîïôùûüÿœ",
    "German": "äöüß",
    "Hungarian": "áéíóöőúüű",
    "Icelandic": "áæéíðóöúýþ",
    "Italian": "àèéìîòù",
    "Latvian": "āčēģīķļņšūž",
    "Lithuanian": "ąčęėįšųūž",
    "Nordic": "äåæéöø",
    "Polish": "ąćęłńóśźż",
    "Portuguese": "àáâãçéêíóôõúü",
    "Romanian": "ăâîşţ",
    "Slovak": "áäčďéíĺľňóôŕšťúýž",
    "Spanish": "áéíñóúü",
    # The lower case of İ is an i and a dot, two characters in Python.
    "Turkish": "âçğîıöşûü\u0307",
}
BEYOND_ASCII = re.compile(rb"[\x80-\xff]")
SIDE_BY_SIDE = re.compile(rb"[\x80-\xff]{2}")
# Characters beyond ASCII and those next to them; signs next to words belong to none.
WORDS = re.compile(r"[A-Za-z\u0080-\uffff]*[\u0080-\uffff][A-Za-z\u0080-\uffff]*")
BESIDE_WORDS = re.compile("[\u00a0«°±²·»×÷€\u2010-\u203a\u3000-\u301f\uff01-\uff20]")
# For these, one character may be a word; for alphabets, a sign next to a letter such as m³ is not.
IDEOGRAPHS = re.compile(f"[{KANA}{HAN}\uac00-\ud7a3]")


def encoding_of(data: bytes, *, is_whole: bool = True) -> str:
    """The encoding of a text from its bytes: by its mark, its zeros, or by decoding."""
    for mark, name in BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return name
    start = data[:4000].rstrip(b"\0")
    # Latin text in UTF-16 has a zero in every second byte.
    if start[1::2].count(0) > 0.4 * len(start[1::2]) > 0:
        return "utf-16-le"
    if start[::2].count(0) > 0.4 * len(start[::2]) > 0:
        return "utf-16-be"
    wrong = _first_wrong(data, is_whole=is_whole)
    return "utf-8" if wrong is None else _by_words(data, wrong)


def _first_wrong(data: bytes, *, is_whole: bool = True) -> int | None:
    """The first byte that is not UTF-8, searched in pieces: a decoded text is large."""
    if data.isascii():
        return None
    decoder = codecs.getincrementaldecoder("utf-8")()
    for begin in range(0, len(data), BUFFER):
        cut_off, end = len(decoder.getstate()[0]), begin + BUFFER
        try:
            decoder.decode(data[begin:end], is_whole and end >= len(data))
        except UnicodeDecodeError as error:
            return begin - cut_off + error.start
    return None


def _by_words(data: bytes, first: int) -> str:
    """The encoding in which words beyond ASCII look most like words; Western if none does.

    A text that is UTF-8 except for a few characters stays so: files were joined or cut.
    """
    letters = BEYOND_ASCII.search(data)
    start = letters.start() if letters else 0
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    beyond = [each for each in decoder.decode(data[start : start + SAMPLE_BYTES]) if each > "\x7f"]
    if beyond.count("\ufffd") < WRONG_LETTERS * len(beyond):
        return "utf-8"
    begin = data.rfind(b"\n", 0, first) + 1
    sample = data[begin : begin + SAMPLE_BYTES]
    # Isolated signs, as in °C, would form ideographs with the next character.
    others = OTHERS if SIDE_BY_SIDE.search(sample) else ()
    words = {name: _words(sample, name) for name in (*LATIN, *others)}
    shares = {name: _share_of_words(words[name], name) for name in words}
    best = max(shares.values())
    if best < shares[WESTERN] + BETTER:
        return WESTERN
    equals = [name for name in words if shares[name] >= best - ALIKE]
    return min(equals, key=lambda name: _messiness(words[name], name) if len(equals) > 1 else 0)


def _words(data: bytes, encoding: str) -> set[str]:
    """Words with characters beyond ASCII, in an encoding; none if it cannot decode them."""
    errors = "replace" if encoding == WESTERN else "strict"
    try:
        # The last character may be cut in two.
        text = codecs.getincrementaldecoder(encoding)(errors).decode(data)
    except UnicodeDecodeError:
        return set()
    found = {word for part in BESIDE_WORDS.split(text) for word in WORDS.findall(part)}
    return {word for word in found if len(word) > 2 or IDEOGRAPHS.search(word)}


def _share_of_words(words: set[str], encoding: str) -> float:
    """The share that looks like words: of one script, and if Latin of one language."""
    # Capitals begin words, or all characters are capitals.
    usual = [word for word in words if word in (word.upper(), word[0] + word[1:].lower())]
    if encoding in OTHERS:
        common = COMMON.get(encoding, range(256))
        like = sum(
            re.fullmatch(OTHERS[encoding], word) is not None
            and all(letter.encode(encoding)[0] in common for letter in word)
            for word in usual
        )
    else:
        beyond = [{letter for letter in word.lower() if letter > "\x7f"} for word in usual]
        # Without an ASCII character, it would be a rare word.
        beyond = [some for some, word in zip(beyond, usual) if re.search("[A-Za-z]", word)]
        like = max(sum(some <= set(known) for some in beyond) for known in ALPHABETS.values())
    return like / max(len(words), 1)


def _messiness(words: set[str], encoding: str) -> float:
    """How messy words look in an encoding, by charset-normalizer: 0 is perfect."""
    text = "\n".join(sorted(words)[:MOST_WORDS])
    found = charset_normalizer.from_bytes(
        text.encode(encoding), cp_isolation=[encoding], threshold=1.0, enable_fallback=False
    ).best()
    return 1.0 if found is None else round(found.chaos, 2)


def as_utf8(data: bytes, encoding: str | None = None) -> tuple[bytes, str]:
    """The text in UTF-8 without a byte-order mark, and the encoding it was in."""
    name = encoding or encoding_of(data)
    if name in ("utf-8", "utf-8-sig"):
        return _whole_letters(data.removeprefix(codecs.BOM_UTF8)), name
    return _decode(data, name, is_given=encoding is not None).encode(), usual_name(name)


def _whole_letters(data: bytes) -> bytes:
    """UTF-8 with invalid characters replaced."""
    if _first_wrong(data) is None:
        return data
    return data.decode("utf-8", "replace").encode()


def _decode(data: bytes, encoding: str, *, is_given: bool) -> str:
    try:
        return data.decode(encoding)
    except LookupError:
        raise TableError(f"unknown encoding {encoding!r}; try utf-8 or latin-1.") from None
    except UnicodeDecodeError as error:
        if encoding == WESTERN:
            return data.decode("latin-1")
        if not is_given and encoding in (*LATIN, *OTHERS):
            return data.decode(encoding, "replace")
        raise TableError(
            f"byte {error.start:,} is not {encoding}: {error.reason}; save the table as UTF-8."
        ) from None


def usual_name(encoding: str) -> str:
    """The common name of an encoding."""
    usual = {WESTERN: "latin-1", "cp932": "shift-jis"}
    return usual.get(encoding, encoding.replace("iso8859", "iso-8859").replace("_", "-"))


def utf8_blocks(
    stream: IO[bytes], size: int, encoding: str | None = None
) -> Iterator[tuple[bytes, bool]]:
    """The text in UTF-8 blocks, each with whether it is the last one.

    The first block determines the encoding. A text that was plain ASCII so far and then is not
    UTF-8 has the encoding of the block where ASCII ends, as if read in one piece; one that had
    other characters in UTF-8 stays so.
    """
    block = stream.read(size)
    name = encoding or encoding_of(block, is_whole=len(block) < size)
    decoder = codecs.getincrementaldecoder("utf-8-sig" if name == "utf-8" else name)()
    is_ascii = True
    while True:
        following = stream.read(size)
        is_last = not following
        try:
            text = decoder.decode(block, is_last)
        except UnicodeDecodeError as error:
            if name in ("utf-8", "utf-8-sig"):
                # A character may have been cut in two between blocks.
                block = decoder.getstate()[0] + block
                # A mark at the beginning, or earlier characters, have decided.
                is_sure = name == "utf-8-sig" or not is_ascii
                name = name if is_sure else _by_words(block, error.start)
            decoder = _forgiving(name)
            text = decoder.decode(block, is_last)
        is_ascii = is_ascii and text.isascii()
        yield text.encode(), is_last
        if is_last:
            return
        block = following


def _forgiving(name: str) -> codecs.IncrementalDecoder:
    """A decoder that tolerates errors."""
    if name == WESTERN:
        return codecs.getincrementaldecoder("latin-1")()
    return codecs.getincrementaldecoder(name)("replace")
