"""Data files that are damaged, cut short, or something else altogether.

The result is right, or a sentence names the file. Each reader of `lib.tasks`,
`lib.corpora`, `audit.probing` and the like gets a tiny valid file first, then every
damage.
"""

from __future__ import annotations

import bz2
import gzip
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from audit import probing
from lib import corpora, tasks
from lib.base import paths
from lib.base.errors import InputError
from lib.corpora import text
from lib.studies import paraphrases, situate
from tests.sizes import CASES, NIGHTLY
from tests.studies.test_situate import IDS, QUERIES, hoods


class Case(NamedTuple):
    """A reader, the file to damage, its valid content, and the files it needs."""

    read: Callable[[Path], Any]
    file: str
    content: bytes
    beside: dict[str, bytes]


def _task(name: str, split: str, file: str, content: str) -> Case:
    return Case(lambda folder: tasks.load(name, split), file, content.encode(), {})


def _corpus(name: str, file: str, content: bytes) -> Case:
    return Case(
        lambda folder: corpora.load(name.format(folder)).sentences[:], file, content, {}
    )


def _neighbors(folder: Path) -> None:
    situate.read(folder / "neighbors.parquet").table()


def _tiny_neighbors(folder: Path) -> bytes:
    hoods(IDS, QUERIES, 6).write(folder / "valid.parquet")
    return (folder / "valid.parquet").read_bytes()


MRPC = "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n"
SICK = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
BENCHMARK = "main-news\tpapers\t2012test\t0007\t2.5\tRain.\tIt rained.\n"
STORY = (
    '<DOC id="FOO_ENG_20100101.0001" type="story" >\n<TEXT>\n<P>\n'
    "A ferry of Foo &amp; Sons ran\naground today.\n</P>\n"
    "<P>\nIt will float again soon.\n</P>\n</TEXT>\n</DOC>\n"
)
NEWS = (
    '<REUTERS TOPICS="YES" NEWID="1">\n<TEXT>&#2;\n'
    "<BODY>Lantern makers said oil was dear.\n"
    "   They did not say how long. Reuter\n&#3;</BODY></TEXT>\n</REUTERS>\n"
)
PAGE = (
    "<mediawiki xmlns='http://www.mediawiki.org/xml/export-0.4/'>"
    "<page><title>Lantern</title><ns>0</ns><id>1</id>"
    "<revision><id>2</id><text>The lantern is a lamp that is carried. "
    "It gives light by night.</text></revision></page>"
    "</mediawiki>\n"
)
WIKIPEDIA = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
PROBES = "".join(
    f"{split}\t{label}\tsome words here\n"
    for split in ("tr", "va", "te")
    for label in "0101"
)
YEAR = "senteval/STS/STS13-en-test"
OTHER_YEAR = {
    f"{YEAR}/STS.{kind}.{subset}.txt": b"a\tb\n" if kind == "input" else b"1\n"
    for subset in ("FNWN", "headlines", "OnWN")
    for kind in ("input", "gs")
}

CASES_OF_DATA = {
    "sts pairs": Case(
        lambda _: tasks.load("STS13"),
        f"{YEAR}/STS.input.FNWN.txt",
        b"a dog\ta cat\n",
        OTHER_YEAR,
    ),
    "sts scores": Case(
        lambda _: tasks.load("STS13"), f"{YEAR}/STS.gs.OnWN.txt", b"4.5\n", OTHER_YEAR
    ),
    "benchmark": _task(
        "STSBenchmark", "test", "senteval/STS/STSBenchmark/sts-test.csv", BENCHMARK
    ),
    "sick relatedness": _task(
        "SICK-R",
        "dev",
        "senteval/SICK/SICK_trial.txt",
        SICK + "1\tA cat sits\tA cat lies\t3.5\tNEUTRAL\n",
    ),
    "mrpc": _task(
        "MRPC",
        "test",
        "senteval/MRPC/msr_paraphrase_test.txt",
        MRPC + "1\t12\t7\tone\ttwo\r\n",
    ),
    "one class a file": Case(
        lambda _: tasks.load("MR"),
        "senteval/MR/rt-polarity.pos",
        b"a fine clich\xe9\nbest\n",
        {"senteval/MR/rt-polarity.neg": b"dull\n"},
    ),
    "trec": _task(
        "TREC",
        "test",
        "senteval/TREC/TREC_10.label",
        "NUM:dist How far is it ?\nABBR:exp What is B ?\n",
    ),
    "sst2": _task(
        "SST2",
        "dev",
        "senteval/SST/binary/sentiment-dev",
        "good , but no more\t0\nfine\t1\n",
    ),
    "opinosis": Case(
        lambda _: tasks.load("Opinosis-groups"),
        "opinosis/paraphrase_groups/a.data",
        b"one\tclear\tlong\ntwo\tsharp\tlasts\nthree\tbright\t\n",
        {},
    ),
    "lee items": Case(
        lambda _: tasks.load("Lee"),
        "gensim/test/test_data/lee.cor",
        b"first item\nsecond item\n",
        {"gensim/test/test_data/similarities0-1.txt": b"1.0\t0.5\n0.5\t1.0\n"},
    ),
    "word pairs": Case(
        lambda _: tasks.load("WS353"),
        "gensim/test/test_data/wordsim353.tsv",
        b"# Word 1\nlove\tsex\t6.77\n",
        {},
    ),
    "lines": _corpus(
        "lines:{}/lines.txt", "lines.txt", "One é.\nTwo.\n\nThree.\n".encode()
    ),
    "packed lines": _corpus(
        "lines:{}/lines.gz",
        "lines.gz",
        gzip.compress(b"One.\nTwo.\n\nThree.\n", mtime=0),
    ),
    "running text": _corpus(
        "text:{}/text.txt", "text.txt", b"One is here. Two is\nthere.\n\nThree.\n"
    ),
    "reuters": _corpus("reuters", "corpora/reuters21578/reut2-000.sgm", NEWS.encode()),
    "gigaword": _corpus(
        "gigaword:2010",
        "corpora/gigaword/data/foo_eng/foo_eng_201001.gz",
        gzip.compress(STORY.encode(), mtime=0),
    ),
    "wikipedia": _corpus(
        "wikipedia-sample",
        f"gensim/test/test_data/{WIKIPEDIA}",
        bz2.compress(PAGE.encode()),
    ),
    "probing": Case(
        lambda _: probing.read("SentLen"),
        "senteval/probing/sentence_length.txt",
        PROBES.encode(),
        {},
    ),
    "word counts": Case(
        lambda folder: text.read_probabilities(folder / "counts.txt"),
        "counts.txt",
        "the 20\né 3\n".encode(),
        {},
    ),
    "own pairs": Case(
        lambda folder: paraphrases.load(f"lines:{folder}/pairs.txt", None),
        "pairs.txt",
        b"it rains\train falls\nit snows\tsnow falls\n",
        {},
    ),
    "neighbors": Case(_neighbors, "neighbors.parquet", b"", {}),
}
# What a reader of text takes for content: a sentence may well begin with a tag, a NUL
# or a lone quote.
ANY_TEXT = {
    "one class a file",
    "lee items",
    "lines",
    "packed lines",
    "running text",
    "opinosis",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Iterator[Path]:
    """The only folder in which data are looked for, for all cases of this module."""
    folder = tmp_path_factory.mktemp("data")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SENTENCE_DATA", str(folder))
        patch.setattr(paths, "DATA", folder / "none")
        patch.setattr(paths, "CACHE", tmp_path_factory.mktemp("cache"))
        patch.setattr(
            "lib.catalog.find_spec", lambda package: None
        )  # what gensim ships is not looked for there
        yield folder


def put(place: Path, name: str) -> tuple[Case, Path]:
    case = CASES_OF_DATA[name]
    if name == "neighbors" and not case.content:
        case = CASES_OF_DATA[name] = case._replace(content=_tiny_neighbors(place))
    for path, content in {**case.beside, case.file: case.content}.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_bytes(content)
    return case, place / case.file


def sentence(case: Case, place: Path) -> str:
    """What the reader says of the file, or "" if it reads it.

    Every score that it reads is a number.
    """
    try:
        found = case.read(place)
    except InputError as error:
        said = str(error)
        assert "\n" not in said
        return said
    scores = (
        list(found.values())
        if isinstance(found, dict)
        else getattr(found, "score", None)
    )
    assert scores is None or np.isfinite(scores).all()
    return ""


# What holds nothing of its kind is refused; a reader of text takes most of it for
# sentences.
EMPTY, WEB_PAGE = b"", b"<!DOCTYPE html>\n<html><body>404 Not Found</body></html>\n"
RANDOM = np.random.default_rng(0).bytes(2000)
DAMAGES: list[Callable[[bytes], bytes]] = [
    lambda content: content[:5] + b"\0" + content[5:],
    lambda content: content.decode("latin-1").encode("utf-16"),
    lambda content: b"\xe9\xff\n" + content,
    lambda content: b"\xef\xbb\xbf" + content,
    lambda content: content.replace(b"\n", b"\r"),
    lambda content: content.replace(b"\t", b" "),
    lambda content: b"PAR1" + content + b"PAR1",
    *(partial(re.sub, rb"\d+(\.\d+)?", number) for number in (b"nan", b"inf", b"99")),
]


# SECURITY: "They may give wrong numbers. They must not run."
@pytest.mark.parametrize("name", CASES_OF_DATA)
def test_a_file_that_is_whole_is_read_and_one_that_is_not_is_read_or_named(
    place, name
) -> None:
    case, file = put(place, name)
    assert sentence(case, place) == ""
    step = 1 if NIGHTLY else max(1, len(case.content) // 10)
    cut = [case.content[:length] for length in range(0, len(case.content), step)]
    for content in [*cut, *(damage(case.content) for damage in DAMAGES)]:
        file.write_bytes(content)
        sentence(case, place)
    for content in (EMPTY, *((WEB_PAGE, RANDOM) if name not in ANY_TEXT else ())):
        file.write_bytes(content)
        assert sentence(case, place)
    file.unlink()
    assert sentence(case, place)


EDITS = st.lists(
    st.tuples(st.integers(0, 10**6), st.binary(max_size=6), st.integers(0, 6)),
    min_size=1,
    max_size=6,
)


@settings(
    max_examples=CASES, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(name=st.sampled_from(sorted(CASES_OF_DATA)), edits=EDITS)
@example(name="wikipedia", edits=[(40, b"\xff", 3)])
def test_bytes_changed_anywhere_are_read_or_named(place, name, edits) -> None:
    case, file = put(place, name)
    content = case.content
    for at, new, gone in edits:
        at %= len(content) + 1
        content = content[:at] + new + content[at + gone :]
    file.write_bytes(content)
    sentence(case, place)
