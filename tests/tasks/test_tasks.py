"""Labeled sets: the papers' counts, all official layouts, and broken files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from lib import corpora, localization, tasks
from lib.base import paths
from lib.base.errors import InputError
from lib.corpora import text
from lib.corpora.closure import groups_from_pairs
from tests.refusals import refused

# How many pairs or sentences the splits of each set have; first, sets that need data.
SETS = {
    "STS12": {"all": 3_108},
    "STS13": {"all": 1_500},
    "STS14": {"all": 3_750},
    "STS15": {"all": 3_000},
    "STSBenchmark": {"train": 5_749, "dev": 1_500, "test": 1_379},
    "SICK-R": {"train": 4_500, "dev": 500, "test": 4_927},
    "SICK-E": {"train": 4_500, "dev": 500, "test": 4_927},
    "MRPC": {"train": 4_076, "test": 1_725},
    "TREC": {"train": 5_452, "test": 500},
    "SST2": {"train": 67_349, "dev": 872, "test": 1_821},
    "SST5": {"train": 8_544, "dev": 1_101, "test": 2_210},
    "MR": {"all": 10_662},
    "CR": {"all": 3_775},
    "SUBJ": {"all": 10_000},
    "MPQA": {"all": 10_606},
    "MSRP-groups": {"all": 859},
    "Opinosis-groups": {"all": 521},
    "Lee": {"all": 1_225},
    "WS353": {"all": 353},
    "Verses": {"all": 23_776},
    "Verses-far": {"train": 600, "test": 600},
    "Translations": {"all": 1_500},
    "Books": {"all": 1_500},
    "Questions": {"all": 800},
}
OF_PACKAGES = list(SETS)[17:]


@pytest.mark.parametrize("name", SETS)
def test_every_set_has_the_papers_counts(data_file, name) -> None:
    counts = SETS[name]
    if name not in OF_PACKAGES:
        data_file("opinosis" if name.startswith("Opinosis") else "senteval")
    assert tasks.splits(name) == list(counts)
    for split, count in counts.items():
        assert len(tasks.load(name, split)) == count
    assert len(tasks.load(name, "all")) == sum(counts.values())


def test_groups_of_the_papers(data_file) -> None:
    data_file("senteval/MRPC")
    data_file("opinosis")
    msrp = np.bincount(tasks.load("MSRP-groups").labels)
    assert np.bincount(msrp).tolist() == [0, 0, 0, 240, 31, 3]
    opinosis = tasks.load("Opinosis-groups")
    assert len(set(opinosis.sentences)) == len(opinosis)
    assert len(np.bincount(opinosis.labels)) == 89


def test_scores_of_news_items_and_words() -> None:
    lee = tasks.load("Lee")
    words = tasks.load("WS353", "all")
    assert (lee.ids[1], lee.ids[-1]) == ((0, 2), (48, 49))
    assert (lee.score.min(), lee.score.max()) == (0.2, 1)
    assert (words.left[0], words.right[1], words.score[2]) == ("love", "cat", 10)


def test_verses_are_grouped_across_translations() -> None:
    sizes = np.bincount(tasks.load("Verses").labels)
    assert (len(sizes), sizes.min()) == (4_758, 3)


def test_verses_far_are_the_same_short_verses_in_two_translations() -> None:
    groups = []
    for split, translation in (("train", "ylt"), ("test", "wmth")):
        task = tasks.load("Verses-far", split)
        assert max(len(text.lower_words(each)) for each in task.sentences) <= 20
        alone = corpora.load(f"bible-gospels:{translation}")
        of_verse = dict(zip(alone.sentences, alone.groups.tolist(), strict=True))
        groups.append([of_verse[sentence] for sentence in task.sentences])
    assert groups[0] == groups[1]


# -- the official layouts, by hand -----------------------------------------------------

MRPC_HEAD = "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n"
SICK_HEAD = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
BENCHMARK = "main-news\tpapers\t2012test\t0007\t2.500\tRain fell.\tIt rained."


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A function that writes files below the data folder, and returns that folder."""
    monkeypatch.setenv("SENTENCE_DATA", f"{tmp_path / 'absent'}:{tmp_path}")

    def write(files: dict[str, str], encoding: str = "utf-8") -> Path:
        for path, content in files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_bytes(content.encode(encoding, "surrogateescape"))
        return tmp_path

    return write


STS13 = "senteval/STS/STS13-en-test"
OPINOSIS = "opinosis/paraphrase_groups"
PN = ("pos", "neg")
OS = ("objective", "subjective")


def sts13(**changed: str) -> dict[str, str]:
    """The files of STS13 with one pair in each, some replaced, such as FNWN_gs."""
    contents = {"input": "A dog sleeps.\tA dog naps.\n", "gs": "4.5\n"}
    files = {}
    for subset in ("FNWN", "headlines", "OnWN"):
        for kind, content in contents.items():
            path = f"{STS13}/STS.{kind}.{subset}.txt"
            files[path] = changed.get(f"{subset}_{kind}", content)
    return files


def test_sts_leaves_out_pairs_without_a_score_and_merges_no_lines(folder) -> None:
    pairs = (
        '"Open only here.\tShut.\r\nNo score.\tNone.\r\n'
        ' Näher , "so" ; \u0085\tStill "open \r\n'
    )
    folder(sts13(headlines_input=pairs, headlines_gs="3.25\n\n0\n"))
    task = tasks.load("STS13")
    assert task.left[1:3] == ['"Open only here.', 'Näher , "so" ;']
    assert task.right == ["A dog naps.", "Shut.", 'Still "open', "A dog naps."]
    assert task.score.tolist() == [4.5, 3.25, 0, 4.5]
    assert task.genre == ["FNWN", "headlines", "headlines", "OnWN"]


@pytest.mark.parametrize(
    ("name", "split", "file", "content", "expected"),
    [
        (
            "STSBenchmark",
            "test",
            "senteval/STS/STSBenchmark/sts-test.csv",
            f"{BENCHMARK}\n{BENCHMARK}\tsome source\tanother\n",  # as distributed
            {
                "left": ["Rain fell."] * 2,
                "score": [2.5] * 2,
                "genre": ["main-news"] * 2,
            },
        ),
        (
            "SICK-E",
            "dev",
            "senteval/SICK/SICK_trial.txt",
            f"{SICK_HEAD}3\tA cat\tA dog\t3.2\tCONTRADICTION\r\n",
            {"left": ["A cat"], "right": ["A dog"], "label": [0]},
        ),
        (
            "MRPC",
            "test",
            "senteval/MRPC/msr_paraphrase_test.txt",
            f'{MRPC_HEAD}1\t12\t7\tHe said "no.\t"No," he said.\r\n',
            {"left": ['He said "no.'], "ids": [(12, 7)], "label": [1]},
        ),
        (
            "TREC",
            "test",
            "senteval/TREC/TREC_10.label",
            "NUM:dist How far ?\nABBR:exp What is a B : C ?\n",
            {"sentences": ["How far ?", "What is a B : C ?"], "labels": [5, 0]},
        ),
        (
            "SST2",
            "train",
            "senteval/SST/binary/sentiment-train",
            "good , but no more \t0\nfine\t1\n",
            {"sentences": ["good , but no more", "fine"], "labels": [0, 1]},
        ),
    ],
)
def test_a_layout_is_read(folder, name, split, file, content, expected) -> None:
    folder({file: content})
    task = tasks.load(name, split)
    assert {field: list(getattr(task, field)) for field in expected} == expected


def test_two_files_one_a_class_in_western_encoding(folder) -> None:
    positive = {"senteval/MR/rt-polarity.pos": "a fine cliché … \n\n'tis good"}
    folder(positive | {"senteval/MR/rt-polarity.neg": "dull \n"}, "cp1252")
    for split in ("test", "all"):
        task = tasks.load("MR", split)
        assert task.sentences == ["a fine cliché …", "", "'tis good", "dull"]
        assert task.labels.tolist() == [1, 1, 1, 0]


PECULIAR = {
    "MR": {f"senteval/MR/rt-polarity.{end}": "a cliché — “so” …\n" for end in PN},
    "CR": {f"senteval/CR/custrev.{end}": "at £9 … \nplain\n" for end in PN},
    "SUBJ": {f"senteval/SUBJ/subj.{end}": "naïve — Zoë\n" for end in OS},
    "MPQA": {f"senteval/MPQA/mpqa.{end}": "« façade »\n" for end in PN},
    "TREC": {"senteval/TREC/TREC_10.label": "LOC:city Where is São Paulo ?\n"},
    "Opinosis-groups": {f"{OPINOSIS}/a.data": "x\ta “b”\nx\tb €\nx\tc ½\n"},
}


@pytest.mark.parametrize(("name", "files"), PECULIAR.items(), ids=PECULIAR)
def test_a_western_set_converted_to_utf8_has_the_same_sentences(
    folder, name, files
) -> None:
    written = "".join(files.values())
    for encoding in ("cp1252", "utf-8", "utf-8-sig"):
        for end in ("\n", "\r", "\r\n"):
            ended = {file: files[file].replace("\n", end) for file in files}
            folder(ended, encoding)
            for sentence in tasks.load(name).sentences:
                assert sentence in written
    (file, content), *_ = files.items()
    western = content.encode("cp1252")
    as_latin = western.decode("latin-1")  # as SentEval reads it
    mixed = (western + content.encode()).decode("utf-8", "surrogateescape")
    for converted in (as_latin, mixed):
        folder({file: converted})
        assert all(sentence in written for sentence in tasks.load(name).sentences)
    folder({file: content + content.replace(" ", " \udc81", 1)}, "cp1252")
    with refused("byte 0x81 is not cp1252; save it as utf-8"):
        tasks.load(name)
    folder({file: content}, "utf-16-le")
    with refused("line 1: contains a NUL character, as UTF-16"):
        tasks.load(name)


@pytest.mark.parametrize("name", ["MR", "SUBJ", "TREC", "Opinosis-groups"])
def test_the_papers_sets_converted_to_utf8_have_the_same_sentences(
    data_file, tmp_path, monkeypatch, name
) -> None:
    place = OPINOSIS if name.startswith("Opinosis") else f"senteval/{name}"
    folder = data_file(place)
    expected = tasks.load(name)
    (tmp_path / place).mkdir(parents=True)
    for file in folder.iterdir():
        content = file.read_bytes().decode("cp1252")
        (tmp_path / place / file.name).write_bytes(content.encode())
    monkeypatch.setenv("SENTENCE_DATA", str(tmp_path))
    assert tasks.load(name).sentences == expected.sentences


def test_msrp_groups_join_pairs_of_both_files_by_id(folder) -> None:
    train = "1\t1\t2\ta &amp; b\ttwo\r\n1\t9\t8\tnine\teight\r\n0\t4\t9\tfour\tnine\r\n"
    test = "1\t3\t1\tthree\ta &amp; b\r\n"
    stem = "senteval/MRPC/msr_paraphrase"
    folder(
        {f"{stem}_train.txt": MRPC_HEAD + train, f"{stem}_test.txt": MRPC_HEAD + test}
    )
    task = tasks.load("MSRP-groups")
    assert task.sentences == ["a & b", "two", "three"]
    assert task.labels.tolist() == [0, 0, 0]


def test_opinosis_groups_are_columns_joined_by_sentences_and_unquoted(folder) -> None:
    first = 'loose\tclear\tlong life\nloose\t "a sharp, clear one"\tlasts\nloose\t\t\n'
    second = "lasts\tlasts\tcheap\n\tlasts for £9\tlow price\n\tgoes on\tlasts\n"
    quoted = 'x\t"sharp, so"\nx\tsharp, so\nx\ta "sharp" one\nx\t"sharp" and "clear"\n'
    tables = {"b.data": second, "a.data": first, "c.data": quoted}
    folder({f"{OPINOSIS}/{name}": table for name, table in tables.items()}, "cp1252")
    task = tasks.load("Opinosis-groups")
    joined = ["long life", "lasts", "lasts for £9", "goes on", "cheap", "low price"]
    unquoted = ["sharp, so", 'a "sharp" one', '"sharp" and "clear"']
    assert task.sentences == joined + unquoted
    assert task.labels.tolist() == [0] * 6 + [1] * 3


# -- what cannot be used ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "files", "message"),
    [
        (
            "STS13",
            sts13(OnWN_input="A dog sleeps. A dog naps.\n"),
            "OnWN.txt, line 1: 1 tab-separated columns",
        ),
        (
            "SICK-E",
            {"senteval/SICK/SICK_test_annotated.txt": f"{SICK_HEAD}1\t\t\t3\tNEUTRA"},
            "line 2: label: 'NEUTRA' is not known; did you mean NEUTRAL",
        ),
        (
            "Opinosis-groups",
            {f"{OPINOSIS}/a.data": "x\ta\tb\ny\tc\n"},
            "a.data, line 2: 2 tab-separated columns; this file has 3",
        ),
    ],
)
def test_a_broken_file_gets_a_sentence_with_its_line(
    folder, name, files, message
) -> None:
    folder(files)
    with refused(message):
        tasks.load(name)


def test_missing_data_say_where_they_were_looked_for(folder, monkeypatch) -> None:
    here = folder({})
    monkeypatch.setattr(paths, "DATA", here / "project" / "data")
    with pytest.raises(InputError) as error:
        tasks.load("STSBenchmark")
    for part in (
        "senteval/STS/STSBenchmark/sts-test.csv",
        str(here / "absent"),
        str(here / "project" / "data"),
        "download Stsbenchmark.tar.gz",
        "SENTENCE_DATA",
    ):
        assert part in str(error.value)


@pytest.mark.parametrize(
    ("name", "split", "message"),
    [
        ("STS-Benchmark", "test", "did you mean STSBenchmark"),
        ("?", "test", f"accepted: {', '.join(sorted(SETS))}"),
        ("MRPC", "dev", "split: MRPC has no 'dev'; accepted: train, test, all"),
        ("MR", "train", "accepted: test, all (it has no official splits, so both mean"),
    ],
)
def test_a_request_that_cannot_be_met_gets_a_sentence(name, split, message) -> None:
    with refused(message):
        tasks.load(name, split)


# -- closure ---------------------------------------------------------------------------


def test_closure_of_the_papers_example() -> None:
    groups = localization.groups_from_pairs([("A", "B"), ("D", "A"), ("B", "C")])
    assert groups == [["A", "B", "D", "C"]]


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1))
def test_closure_is_the_connected_components_of_scipy(pairs) -> None:
    left, right = np.array(pairs).T
    graph = coo_array((np.ones(len(pairs)), (left, right)), (13, 13))
    labels = connected_components(graph)[1]
    expected = {frozenset(np.flatnonzero(labels == x).tolist()) for x in labels[left]}
    groups = groups_from_pairs(pairs)
    assert len(groups) == len(expected)
    assert {frozenset(group) for group in groups} == expected


@pytest.mark.parametrize("pairs", [[(1, 2), (3,)], [([1], 2)], [7]])
def test_what_is_no_pair_of_ids_is_refused(pairs) -> None:
    with refused("is not a pair; give two hashable ids"):
        groups_from_pairs(pairs)
