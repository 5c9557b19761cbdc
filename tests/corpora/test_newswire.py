"""Newswire: invented text in both archives' formats; counts of the real Reuters."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from lib import corpora
from tests.refusals import refused
from tests.sizes import NIGHTLY

REUTERS = """<!DOCTYPE lewis SYSTEM "lewis.dtd">
<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" CGISPLIT="TRAINING-SET" OLDID="1" NEWID="1">
<DATE> 1-JAN-1987 00:00:00.00</DATE>
<UNKNOWN>
&#5;&#5;&#5;C T</UNKNOWN>
<TEXT>&#2;
<TITLE>LANTERNS BRIGHTER</TITLE>
<DATELINE>    OYSTER BAY, Jan 1 - </DATELINE><BODY>Lantern makers at Foo &amp; Sons Inc &lt;FOO> said
oil was dear in the&#127;harbor of Oyster Bay.
    "Waiting," she said. They did not
say for how long.\xfc&#5;&#30;
 Reuter
&#3;</BODY></TEXT>
</REUTERS>
<REUTERS TOPICS="NO" LEWISSPLIT="TRAIN" CGISPLIT="TRAINING-SET" OLDID="2" NEWID="2">
<TEXT>&#2;
<TITLE>FOO NET UP</TITLE>
<BODY>Shr one ct vs two cts
    Net 12 vs 13
    NOTE: The year before had no lantern tax at all.
 REUTER...^M
&#3;</BODY></TEXT>
</REUTERS>
<REUTERS TOPICS="NO" LEWISSPLIT="TRAIN" CGISPLIT="TRAINING-SET" OLDID="3" NEWID="3">
<TEXT TYPE="BRIEF">&#2;
<TITLE>A note without any body at all.</TITLE>
</TEXT>
</REUTERS>
<REUTERS TOPICS="NO" LEWISSPLIT="TRAIN" CGISPLIT="TRAINING-SET" OLDID="4" NEWID="4">
<TEXT>&#2;
<TITLE>WICKS</TITLE>
<DATELINE>    OYSTER BAY, Jan 1 - </DATELINE><BODY>Wick prices were unchanged today, dealers told Reuters.
         SHORT     LONG
 JAN     12.1      13.0
 FEB     12.2      13.1
    They did not say for how long.
 MORE
&#3;</BODY></TEXT>
</REUTERS>
"""  # noqa: E501


GIGAWORD = """<DOC id="FOO_ENG_20100101.0001" type="story" >
<HEADLINE>
No sentence of the text.
</HEADLINE>
<DATELINE>
OYSTER BAY, Jan 1 (FOO)
</DATELINE>
<TEXT>
<P>
A ferry of Foo &amp; Sons ran
aground on Friday. It floats again.
</P>
<P>
No more.
</P>
</TEXT>
</DOC>
<DOC id="FOO_ENG_20100101.0002" type="advis" >
<TEXT>
<P>
Editors should know that nothing follows here.
</P>
</TEXT>
</DOC>
<DOC id="FOO_ENG_20100101.0003" type="story" >
<TEXT>
<P>
Señor Marsh sold the ferry to the town.
</P>
</TEXT>
</DOC>
"""


def put(file: Path, content: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)


def put_reuters(
    data: Path, content: bytes = REUTERS.encode("latin-1"), number: int = 0
) -> None:
    put(data / f"corpora/reuters21578/reut2-{number:03d}.sgm", content)


def put_gigaword(
    data: Path, text: str = GIGAWORD, name: str = "foo_eng/foo_eng_201001.gz"
) -> None:
    put(data / "corpora/gigaword/data" / name, gzip.compress(text.encode()))


# -- Reuters-21578 ---------------------------------------------------------------------


def test_reuters_keeps_prose_and_its_ledes(data_folder) -> None:
    put_reuters(data_folder)
    corpus = corpora.load("reuters")
    assert corpus.sentences == [
        (
            "Lantern makers at Foo & Sons Inc <FOO> said oil was dear in the harbor of "
            "Oyster Bay."
        ),
        "They did not say for how long.",
        "NOTE: The year before had no lantern tax at all.",
        "Wick prices were unchanged today, dealers told Reuters.",
    ]
    assert corpus.documents.tolist() == [0, 0, 1, 2]
    assert corpus.ledes.tolist() == [0, 3]  # the second item opens with a table
    assert corpus.groups.tolist() == [-1, -1, -1, -1]


def test_reuters_files_are_read_in_order(data_folder) -> None:
    for number, word in ((10, "later"), (2, "earlier")):
        body = f"<BODY>This was written {word}.\n Reuter\n</BODY>"
        item = f'<REUTERS NEWID="1">\n{body}\n</REUTERS>\n'
        put_reuters(data_folder, item.encode(), number)
    first, second = corpora.load("reuters").sentences
    assert (first, second) == ("This was written earlier.", "This was written later.")


def test_a_broken_reuters_file_gets_a_sentence_with_its_line(data_folder) -> None:
    broken = REUTERS.replace("</REUTERS>\n", "", 1)
    put_reuters(data_folder, broken.encode("latin-1"))
    with refused("reut2-000.sgm, line 2: the <REUTERS> that begins here is not"):
        corpora.load("reuters")


# Of the whole, and of its first and last file.
COUNTS = (98_879, 19_042, 15_224) if NIGHTLY else (6_722, 1_384, 1_021)


def test_counts_of_reuters(data_folder, data_file) -> None:
    for number in range(22) if NIGHTLY else (0, 21):
        file = data_file(f"corpora/reuters21578/reut2-{number:03d}.sgm")
        put_reuters(data_folder, file.read_bytes(), number)
    corpus = corpora.load("reuters")
    assert (len(corpus), corpus.documents.max(), len(corpus.ledes)) == COUNTS


# -- English Gigaword ------------------------------------------------------------------


def test_gigaword_reads_the_stories_of_a_year(data_folder) -> None:
    put_gigaword(data_folder)
    canoe = GIGAWORD.replace("ferry", "canoe")
    put_gigaword(data_folder, canoe, "bar_eng/bar_eng_201002.gz")
    liner = GIGAWORD.replace("ferry", "liner")
    put_gigaword(data_folder, liner, "foo_eng/foo_eng_200912.gz")
    corpus = corpora.load("gigaword:2010")
    assert corpus.sentences == [
        "A canoe of Foo & Sons ran aground on Friday.",
        "Señor Marsh sold the canoe to the town.",
        "A ferry of Foo & Sons ran aground on Friday.",
        "Señor Marsh sold the ferry to the town.",
    ]
    assert corpus.documents.tolist() == corpus.ledes.tolist() == [0, 1, 2, 3]
    with refused("no file of that year; accepted: 2009, 2010"):
        corpora.load("gigaword:1871")
    with refused("did you mean gigaword:YEAR"):
        corpora.load("gigaword")


@pytest.mark.parametrize(
    ("name", "folder", "message"),
    [
        ("reuters", "reuters21578", "has none; make data ASSET=reuters21578"),
        ("gigaword:2010", "gigaword/data", "give the data folder of LDC2011T07"),
    ],
)
def test_a_folder_without_its_files_gets_a_sentence(
    data_folder, name, folder, message
) -> None:
    (data_folder / "corpora" / folder).mkdir(parents=True)
    with refused(message):
        corpora.load(name)
