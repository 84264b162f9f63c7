"""Encodings: texts saved in another country's encoding."""

import io

import pytest

from gapless.data import encodings, read_table
from gapless.data.encodings import as_utf8, encoding_of, utf8_blocks

TEXTS = {
    "cp1252": (
        "Zürich,Größe\nKöln,3 €",
        "temp °C,m²,m³\n5,6,7",
        "Temp °C\n5\n6",
        "“ça” – niño,½\n£5,Ærø",
        "nombre,ciudad\nBegoña,Cádiz\nÍñigo,Córdoba",
        "nom,ville\nLefèvre,Besançon\nZoé,Orléans",
        "navn,by\nSøren,Tromsø\nÅse,Ålesund",
        "nome,cidade\nJoão,São Paulo\nConceição,Brasília",
        "nafn,borg\nÞórður,Reykjavík\nGuðrún,Ísafjörður",
    ),
    "shift_jis": ("東京,大阪,名古屋", "商品名,カテゴリ\nりんご,くだもの\nノートパソコン,電化製品"),
    "euc_jp": ("商品名,カテゴリ\nりんご,くだもの\nノートパソコン,電化製品", "北海道,3\n神奈川県,4"),
    "gb18030": ("姓名,年龄,城市\n张三,3,杭州\n李四,4,成都", "产品,类别\n苹果,水果\n电脑,电子产品"),
    "big5": ("產品,類別\n蘋果,水果\n電腦,電子產品", "縣市,人口\n臺北市,3\n新北市,4"),
    "cp949": ("이름,나이,도시\n김철수,3,서울\n이영희,4,부산", "고객,주문\n박지성,3\n최민수,4"),
    "cp1251": ("имя,возраст,город\nИван,3,Москва\nМария,4,Казань", "назва,місто\nЇжак,Київ"),
    "koi8_r": ("имя,возраст,город\nИван,3,Москва\nМария,4,Казань",),
    "cp866": ("имя,возраст,город\nИван,3,Москва\nМария,4,Казань",),
    "iso8859_5": ("имя,возраст,город\nИван,3,Москва\nМария,4,Казань",),
    "cp1253": ("όνομα,ηλικία\nΓιώργος,3", "πόλη,χώρα\nΑθήνα,Ελλάδα"),
    "cp1255": ("שם,גיל\nדוד,3\nמשה,4", "מוצר,מחיר\nלחם,3\nחלב,4"),
    "cp1256": ("اسم,عمر\nمحمد,3\nعلي,4", "مدينة,بلد\nالقاهرة,مصر\nبغداد,العراق"),
    "cp874": ("ชื่อ,อายุ\nสมชาย,3\nกรุงเทพ,3",),
    "cp1250": (
        "miasto,x\nŁódź,3\nWrocław,4\nPoznań,5",
        "jméno,město\nJiří Dvořák,Plzeň\nŠárka,Děčín",
        "név,város\nErzsébet,Győr\nGyörgy,Székesfehérvár\nSzűcs,Hódmezővásárhely",
        "ime,grad\nŽeljko,Šibenik\nĐorđe,Čakovec",
        "nume,oraş\nIonuţ,Bucureşti\nŞtefan,Iaşi",
    ),
    "iso8859_2": ("jméno,město\nJiří Dvořák,Plzeň\nŠárka,Děčín\nVěra,Žďár",),
    "cp1254": ("ad,şehir\nAyşe,İstanbul\nOğuz,Muğla\nIşıl,Eskişehir\nÇağrı,Ağrı",),
    "cp1257": ("Jānis,Rīga\nĒriks,Jūrmala\nŽanis,Liepāja", "Žydrūnas,Šiauliai\nRūta,Panevėžys"),
    "mac_roman": ("ville,âge\nGenève,3\nSão Paulo,4",),
    "cp850": ("Stadt,Größe\nKöln,3\nZürich,4\nMünchen,5",),
}


@pytest.mark.parametrize("encoding", TEXTS)
def test_the_letters_of_a_country_are_found(encoding):
    for text in TEXTS[encoding]:
        # In a few lines, and among many of numbers.
        rows = [f"{k},{line},{k * 7 % 11}.25\n" for k, line in enumerate(text.splitlines() * 200)]
        for whole in (text, "".join(rows)):
            data, name = as_utf8(whole.encode(encoding))
            assert data.decode() == whole, name


def test_the_encoding_is_said():
    table = read_table("id,都市\n1,東京\n2,大阪\n".encode("shift_jis"))
    assert table.encoding == "shift-jis"
    assert "decoded as shift-jis" in table.notes
    assert table.frame.columns == ["id", "都市"]


def test_a_wrong_letter_in_utf_8_does_not_change_the_others():
    data = b"stadt,x\n" + "Köln,1\nGraz,2\n".encode() * 30 + b"Z\xfcrich,3\n"
    table = read_table(data)
    assert table.frame["stadt"][0] == "Köln" and table.frame["stadt"][-1] == "Z�rich"
    assert table.encoding == "utf-8" and "could not be decoded" in table.notes[0]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "shift_jis", "cp1251", "latin-1"])
def test_blocks_are_the_whole(encoding):
    """A character may be cut in two by the end of a block, and come late in the text."""
    letters = {"shift_jis": "東京", "cp1251": "Москва"}.get(encoding, "Köln")
    text = "a,b\n" + "1,2\n" * 50 + f"{letters},3\n" * 50
    blocks = list(utf8_blocks(io.BytesIO(text.encode(encoding)), 101))
    assert b"".join(block for block, _ in blocks).decode() == text
    assert [is_last for _, is_last in blocks] == [False] * (len(blocks) - 1) + [True]


def test_zeros_at_the_end_are_no_utf_16():
    assert encoding_of(b"a,b\n1,2\n" + bytes(100)) == "utf-8"


def test_one_wrong_byte_far_down_spoils_no_other_letters():
    """Above it only ASCII is seen at first, or UTF-8 characters in other blocks."""
    plain, letters = b"a plain line\n" * 25_000, "Zürich, Köln, Orléans\n".encode() * 20
    text = plain + letters + b"x\xffy\n" + letters
    whole, name = as_utf8(text)
    assert name == "utf-8" and whole.decode() == text.decode("utf-8", "replace")
    short = letters + b"x\xffy\n" + letters
    for size in range(100, 110):
        blocks = b"".join(block for block, _ in utf8_blocks(io.BytesIO(short), size))
        assert blocks.decode() == short.decode("utf-8", "replace")


def test_a_wrong_byte_leaves_no_mark_in_the_first_name():
    text = b"\xef\xbb\xbfname,y\nx\xffy,1\n"
    assert read_table(text).frame.columns == ["name", "y"]
    blocks = b"".join(block for block, _ in utf8_blocks(io.BytesIO(text), 1 << 16))
    assert blocks.decode() == "name,y\nx\ufffdy,1\n"


def test_a_letter_on_the_edge_of_a_piece_is_whole(monkeypatch):
    monkeypatch.setattr(encodings, "BUFFER", 4)
    for blanks in range(5):
        right = b" " * blanks + "größer, Ünal".encode()
        assert encoding_of(right) == "utf-8" and as_utf8(right)[0] == right
        wrong = right * 6 + b"\xff" + right
        assert as_utf8(wrong)[0].decode() == wrong.decode("utf-8", "replace")
