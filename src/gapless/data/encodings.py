"""The encoding of a text, found from its bytes, and the same text in UTF-8.

Bytes that are no UTF-8 were mostly saved by a spreadsheet in the encoding of its country. Each one
that can read them makes words of other letters; the one whose words look most like words is taken.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from .findings import TableError

BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
WESTERN = "cp1252"
# Bytes of text in which words are looked at.
LOOKED_AT = 1 << 18
# The share of words that must look better than they do as western ones.
BETTER = 0.2
# Of UTF-8 with errors in it, so large a share of the letters beyond ASCII may be wrong.
WRONG_LETTERS = 0.1

BEYOND_ASCII = re.compile(rb"[\x80-\xff]")
# Letters beyond ASCII and those beside them; signs that stand beside words belong to none.
WORDS = re.compile(r"[A-Za-z\u0080-\uffff]*[\u0080-\uffff][A-Za-z\u0080-\uffff]*")
BESIDE_WORDS = re.compile("[\u00a0©«®°±²·»×÷€\u2010-\u203a\u3000-\u301f\uff01-\uff20]")


@dataclass(frozen=True, slots=True)
class National:
    """An encoding of some languages, and what the letters of their words are.

    Attributes
    ----------
    name : str
        What Python calls it.
    letters : str
        A pattern of one letter of its words beyond ASCII.
    common : str, default=""
        The older encoding of its common letters alone; empty if all of them are common.
    leads : range of int
        The first bytes of common letters in that encoding.
    is_latin : bool, default=False
        Whether its letters stand among those of ASCII in a word; otherwise they never do.
    """

    name: str
    letters: str
    common: str = ""
    leads: range = range(256)
    is_latin: bool = False


KANA, HAN = "\u3041-\u30fe", "\u4e00-\u9fff"
# Of equally good ones the first is taken: those with fewer letters come first.
NATIONAL = (
    National(WESTERN, "[^\\W\\d_]", is_latin=True),
    National("cp932", f"[{KANA}{HAN}]", "shift_jis", range(0x81, 0x99)),
    National("cp949", "[\uac00-\ud7a3]", "euc_kr", range(0xB0, 0xC9)),
    National("big5", f"[{HAN}]", "big5", range(0xA4, 0xC7)),
    National("gb18030", f"[{HAN}]", "gb2312", range(0xB0, 0xD8)),
    National("euc_jp", f"[{KANA}{HAN}]", "euc_jp", range(0xA4, 0xD0)),
    National("cp1255", "[\u05d0-\u05ea]"),
    National("cp1251", "[\u0401-\u0491]"),
    National("koi8_r", "[\u0401-\u0491]"),
    National("cp1253", "[\u0386-\u03ce]"),
    National("cp1256", "[\u0621-\u06d2]"),
    National("cp874", "[\u0e01-\u0e4e]"),
    National("cp1250", "[^\\W\\d_]", is_latin=True),
    National("mac_roman", "[^\\W\\d_]", is_latin=True),
)


def encoding_of(data: bytes, *, is_whole: bool = True) -> str:
    """The encoding of a text from its bytes: by its mark, its zeros, or what can be decoded."""
    for mark, name in BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return name
    start = data[:4000].rstrip(b"\0")
    # Latin letters in UTF-16 have a zero in every second byte.
    if start[1::2].count(0) > 0.4 * len(start[1::2]) > 0:
        return "utf-16-le"
    if start[::2].count(0) > 0.4 * len(start[::2]) > 0:
        return "utf-16-be"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data, is_whole)
        return "utf-8"
    except UnicodeDecodeError as error:
        return _national(data, error.start)


def _national(data: bytes, first: int) -> str:
    """The encoding in which words beyond ASCII look most like words; western if none does.

    A text that is UTF-8 but for a few letters stays so: somebody has joined or cut files.
    """
    begin = data.rfind(b"\n", 0, first) + 1
    sample = data[begin : begin + LOOKED_AT]
    letters = BEYOND_ASCII.search(data)
    start = letters.start() if letters else 0
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    beyond = [each for each in decoder.decode(data[start : start + LOOKED_AT]) if each > "\x7f"]
    if beyond.count("\ufffd") < WRONG_LETTERS * len(beyond):
        return "utf-8"
    rated = [(_likeness(sample, one), one.name) for one in NATIONAL]
    western = rated[0][0]
    best, name = max(rated, key=lambda pair: pair[0])
    return name if best >= western + BETTER else WESTERN


def _likeness(data: bytes, encoding: National) -> float:
    """The share of words with letters beyond ASCII that look like words in an encoding."""
    errors = "replace" if encoding.name == WESTERN else "strict"
    try:
        # The last letter may be cut in two.
        text = codecs.getincrementaldecoder(encoding.name)(errors).decode(data)
    except UnicodeDecodeError:
        return 0.0
    # A sign, alone or beside a letter such as m³, is no word of an alphabet.
    least = 1 if encoding.common else 3
    found = {word for part in BESIDE_WORDS.split(text) for word in WORDS.findall(part)}
    words = {word for word in found if len(word) >= least}
    return sum(_is_word(word, encoding) for word in words) / max(len(words), 1)


def _is_word(word: str, encoding: National) -> bool:
    has_ascii = re.search("[A-Za-z]", word) is not None
    beyond = "".join(letter for letter in word if not letter.isascii())
    if has_ascii != encoding.is_latin or not re.fullmatch(f"(?:{encoding.letters})+", beyond):
        return False
    # Capitals begin words, or all letters are.
    if word.upper() != word and word[1:].lower() != word[1:]:
        return False
    if not encoding.common:
        return True
    try:
        codes = [letter.encode(encoding.common) for letter in beyond]
    except UnicodeEncodeError:
        return False
    return all(code[0] in encoding.leads for code in codes)


def as_utf8(data: bytes, encoding: str | None = None) -> tuple[bytes, str]:
    """The text in UTF-8 without a byte-order mark, and the encoding it was in."""
    name = encoding or encoding_of(data)
    if name in ("utf-8", "utf-8-sig"):
        return _whole_letters(data.removeprefix(codecs.BOM_UTF8)), name
    return _decode(data, name, is_asked=encoding is not None).encode(), usual_name(name)


def _whole_letters(data: bytes) -> bytes:
    """UTF-8 in which letters that are none are replaced."""
    try:
        data.decode()
        return data
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace").encode()


def _decode(data: bytes, encoding: str, *, is_asked: bool) -> str:
    try:
        return data.decode(encoding)
    except LookupError:
        raise TableError(f"unknown encoding {encoding!r}; try utf-8 or latin-1.") from None
    except UnicodeDecodeError as error:
        if encoding == WESTERN:
            return data.decode("latin-1")
        if not is_asked and encoding in (one.name for one in NATIONAL):
            return data.decode(encoding, "replace")
        raise TableError(
            f"byte {error.start:,} is not {encoding}: {error.reason}; save the table as UTF-8."
        ) from None


def usual_name(encoding: str) -> str:
    """What people call an encoding."""
    usual = {WESTERN: "latin-1", "cp932": "shift-jis", "euc_jp": "euc-jp", "koi8_r": "koi8-r"}
    return usual.get(encoding, encoding)


def utf8_blocks(
    stream: IO[bytes], size: int, encoding: str | None = None
) -> Iterator[tuple[bytes, bool]]:
    """The text block by block in UTF-8, each with whether it is the last one.

    The first block decides about the encoding. A text that was plain ASCII so far and then is no
    UTF-8 is in the encoding that the block where it ends shows, as it would be read in one piece;
    one that had other letters in UTF-8 stays so.
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
                # A letter may have been cut in two between blocks.
                block = decoder.getstate()[0] + block
                # A mark at the beginning, or letters so far, have said what it is.
                is_sure = name == "utf-8-sig" or not is_ascii
                name = name if is_sure else _national(block, error.start)
            decoder = _forgiving(name)
            text = decoder.decode(block, is_last)
        is_ascii = is_ascii and text.isascii()
        yield text.encode(), is_last
        if is_last:
            return
        block = following


def _forgiving(name: str) -> codecs.IncrementalDecoder:
    """A decoder that reads on where another could not."""
    if name == WESTERN:
        return codecs.getincrementaldecoder("latin-1")()
    return codecs.getincrementaldecoder(name)("replace")
