"""Labeled sets: the papers' counts, all official layouts, and broken files."""

from __future__ import annotations

import unicodedata
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from lib import corpora, localization, tasks
from lib.corpora import text
from lib.corpora.closure import groups_from_pairs
from lib.run import paths
from lib.run.errors import InputError
from tests.refusals import refused

STS_SUBSETS = {
    "STS12": {
        "MSRpar": 750,
        "MSRvid": 750,
        "SMTeuroparl": 459,
        "surprise.OnWN": 750,
        "surprise.SMTnews": 399,
    },
    "STS13": {"FNWN": 189, "headlines": 750, "OnWN": 561},
    "STS14": {
        "deft-forum": 450,
        "deft-news": 300,
        "headlines": 750,
        "OnWN": 750,
        "images": 750,
        "tweet-news": 750,
    },
    "STS15": {
        "answers-forums": 375,
        "answers-students": 750,
        "belief": 375,
        "headlines": 750,
        "images": 750,
    },
}
SPLITS = {
    "STSBenchmark": {"train": 5_749, "dev": 1_500, "test": 1_379},
    "SICK-R": {"train": 4_500, "dev": 500, "test": 4_927},
    "SICK-E": {"train": 4_500, "dev": 500, "test": 4_927},
    "MRPC": {"train": 4_076, "test": 1_725},
    "TREC": {"train": 5_452, "test": 500},
    "SST2": {"train": 67_349, "dev": 872, "test": 1_821},
    "SST5": {"train": 8_544, "dev": 1_101, "test": 2_210},
}
WHOLE = {"MR": 10_662, "CR": 3_775, "SUBJ": 10_000, "MPQA": 10_606}
SHIPPED = ("Lee", "WS353", "Verses", "Verses-far", "Translations", "Books", "Questions")
FOLDERS = {
    **{name: f"senteval/STS/{name}-en-test" for name in STS_SUBSETS},
    **{name: f"senteval/{name}" for name in ("MRPC", "TREC", *WHOLE)},
    "STSBenchmark": "senteval/STS/STSBenchmark",
    "SICK-R": "senteval/SICK",
    "SICK-E": "senteval/SICK",
    "SST2": "senteval/SST/binary",
    "SST5": "senteval/SST/fine",
    "MSRP-groups": "senteval/MRPC",
    "Opinosis-groups": "opinosis/paraphrase_groups",
}


def texts(task: tasks.Task) -> list[str]:
    return (
        task.left + task.right if isinstance(task, tasks.PairTask) else task.sentences
    )


# -- the papers' data ------------------------------------------------------------------


@pytest.mark.parametrize("name", STS_SUBSETS)
def test_counts_and_genres_of_sts(data_file, name) -> None:
    data_file(FOLDERS[name])
    task = tasks.load(name)
    assert Counter(task.genre) == STS_SUBSETS[name]
    assert (
        len(task)
        == len(task.left)
        == len(task.right)
        == len(task.score)
        == sum(STS_SUBSETS[name].values())
    )
    assert 0 <= task.score.min() < 1
    assert 4 < task.score.max() <= 5
    assert task.label is None
    assert task.ids is None


@pytest.mark.parametrize(
    ("name", "split"), [(name, split) for name in SPLITS for split in SPLITS[name]]
)
def test_counts_of_official_splits(data_file, name, split) -> None:
    data_file(FOLDERS[name])
    assert len(tasks.load(name, split)) == SPLITS[name][split]


@pytest.mark.parametrize("name", WHOLE)
def test_counts_of_sets_without_splits(data_file, name) -> None:
    data_file(FOLDERS[name])
    task = tasks.load(name)
    assert len(task) == WHOLE[name]
    assert (np.bincount(task.labels).tolist(), task.labels[0]) == (
        {
            "MR": [5_331, 5_331],
            "CR": [1_368, 2_407],
            "SUBJ": [5_000, 5_000],
            "MPQA": [7_294, 3_312],
        }[name],
        1,
    )
    assert sum(not sentence for sentence in task.sentences) == {"CR": 4, "MPQA": 3}.get(
        name, 0
    )


def test_groups_of_msrp(data_file) -> None:
    data_file(FOLDERS["MSRP-groups"])
    task = tasks.load("MSRP-groups")
    assert Counter(np.bincount(task.labels).tolist()) == {3: 240, 4: 31, 5: 3}
    assert len(task) == len(set(task.sentences)) == 859
    assert task.labels.dtype == np.int32


def test_groups_of_opinosis(data_file) -> None:
    data_file(FOLDERS["Opinosis-groups"])
    task = tasks.load("Opinosis-groups")
    sizes = np.bincount(task.labels)
    assert (len(task), len(set(task.sentences)), len(sizes), sizes.min()) == (
        521,
        521,
        89,
        3,
    )
    assert not any(sentence.startswith('"') for sentence in task.sentences)


@pytest.mark.parametrize("name", [*SHIPPED, *FOLDERS])
def test_texts_are_decoded_and_stripped(data_file, name) -> None:
    if name not in SHIPPED:
        data_file(FOLDERS[name])
    found = texts(tasks.load(name, "all"))
    assert all(sentence == sentence.strip() for sentence in found)
    # What was read in the wrong encoding holds control characters or UTF-8 read as
    # Latin-1; so do a few texts in the files themselves, which stay as they are.
    odd = sum(
        any(map(is_control, sentence)) or "\ufffd" in sentence or "â€" in sentence
        for sentence in found
    )
    assert odd == {"STS12": 2, "STS13": 1, "MRPC": 1}.get(name, 0)


def is_control(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cs")


# -- sets that come with packages ------------------------------------------------------


def test_news_items_and_words_need_no_data(monkeypatch) -> None:
    monkeypatch.setenv("SENTENCE_DATA", "")
    lee, words = tasks.load("Lee"), tasks.load("WS353", "all")
    assert (len(lee), len(set(lee.left + lee.right)), len(words)) == (1_225, 50, 353)
    assert lee.ids[:2] == [(0, 1), (0, 2)]
    assert lee.ids[-1] == (48, 49)
    assert (lee.score.min(), lee.score.max(), words.score.min(), words.score.max()) == (
        0.2,
        1,
        0.23,
        10,
    )
    assert (words.left[0], words.right[1], words.score[2]) == ("love", "cat", 10)


def test_verses_are_grouped_across_translations() -> None:
    task = tasks.load("Verses")
    sizes = np.bincount(task.labels)
    assert (len(task), len(sizes), sizes.min()) == (23_776, 4_758, 3)
    assert (np.diff(task.labels) >= 0).all()
    assert len(set(task.sentences)) == len(task)


def test_verses_far_are_the_same_verses_in_two_translations() -> None:
    train, test, both = (
        tasks.load("Verses-far", split) for split in ("train", "test", "all")
    )
    assert train.labels.tolist() == test.labels.tolist() == list(range(600))
    assert both.sentences == train.sentences + test.sentences
    assert both.labels.tolist() == [*range(600), *range(600)]
    groups = []
    for task, translation in ((train, "ylt"), (test, "wmth")):
        alone = corpora.load(f"bible-gospels:{translation}")
        place = [alone.sentences.index(sentence) for sentence in task.sentences]
        groups.append(alone.groups[place].tolist())
        assert max(len(text.lower_words(sentence)) for sentence in task.sentences) <= 20
    assert groups[0] == groups[1]


# -- the official layouts, by hand -----------------------------------------------------

MRPC_HEAD = "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n"
SICK_HEAD = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A function that writes files and returns the folder.

    It takes a dict of paths below the data folder -> contents.
    """
    monkeypatch.setenv("SENTENCE_DATA", f"{tmp_path / 'absent'}:{tmp_path}")

    def write(files: dict[str, str], encoding: str = "utf-8") -> Path:
        for path, content in files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_bytes(content.encode(encoding))
        return tmp_path

    return write


def sts13(**changed: str) -> dict[str, str]:
    """The files of STS13, one pair in each, with some contents replaced.

    "FNWN_gs" names STS.gs.FNWN.txt.
    """
    files = {
        f"STS.{kind}.{subset}.txt": ""
        for subset in STS_SUBSETS["STS13"]
        for kind in ("input", "gs")
    }
    files = {
        path: "A dog sleeps.\tA dog naps.\n" if "input" in path else "4.5\n"
        for path in files
    }
    for key, content in changed.items():
        subset, kind = key.split("_")
        files[f"STS.{kind}.{subset}.txt"] = content
    return {f"{FOLDERS['STS13']}/{path}": content for path, content in files.items()}


def test_sts_leaves_out_pairs_without_a_score_and_merges_no_lines(folder) -> None:
    pairs = (
        '"Open only here.\tShut.\r\nNo score.\tNone.\r\n'
        ' Näher , "so" ; \u0085\tStill "open \r\n'
    )
    folder(sts13(headlines_input=pairs, headlines_gs="3.25\n\n0\n"))
    task = tasks.load("STS13")
    assert task.left == [
        "A dog sleeps.",
        '"Open only here.',
        'Näher , "so" ;',
        "A dog sleeps.",
    ]
    assert task.right == ["A dog naps.", "Shut.", 'Still "open', "A dog naps."]
    assert task.score.tolist() == [4.5, 3.25, 0, 4.5]
    assert task.genre == ["FNWN", "headlines", "headlines", "OnWN"]


def test_sts_benchmark_as_distributed_has_more_columns(folder) -> None:
    line = "main-news\tpapers\t2012test\t0007\t2.500\tRain fell.\tIt rained."
    folder(
        {
            "senteval/STS/STSBenchmark/sts-test.csv": (
                f"{line}\n{line}\tsome source\tanother\n"
            )
        }
    )
    task = tasks.load("STSBenchmark")
    assert task.left == ["Rain fell."] * 2
    assert task.right == ["It rained."] * 2
    assert (task.score.tolist(), task.genre) == ([2.5] * 2, ["main-news"] * 2)


def test_sick_with_and_without_carriage_returns(folder) -> None:
    rows = (
        "3\tA cat sits\tA cat lies\t3.2\tCONTRADICTION\n"
        "4\tA cat sits\tAn animal sits\t4.8\tENTAILMENT\n"
    )
    for end in ("\n", "\r\n"):
        folder({"senteval/SICK/SICK_trial.txt": (SICK_HEAD + rows).replace("\n", end)})
        assert tasks.load("SICK-R", "dev").score.tolist() == [3.2, 4.8]
        entailment = tasks.load("SICK-E", "dev")
        assert entailment.label.tolist() == [0, 2]
        assert entailment.right == ["A cat lies", "An animal sits"]


def test_mrpc_with_its_byte_order_mark(folder) -> None:
    folder(
        {
            "senteval/MRPC/msr_paraphrase_test.txt": MRPC_HEAD
            + '1\t12\t7\tHe said "no.\t"No," he said.\r\n'
        }
    )
    task = tasks.load("MRPC")
    assert (task.left, task.right) == (['He said "no.'], ['"No," he said.'])
    assert (task.ids, task.label.tolist(), task.label.dtype, task.score) == (
        [(12, 7)],
        [1],
        np.int32,
        None,
    )


def test_two_files_one_a_class_in_western_encoding(folder) -> None:
    folder(
        {"senteval/MR/rt-polarity.pos": "a fine cliché … \n\n'tis good … still"},
        "cp1252",
    )
    folder({"senteval/MR/rt-polarity.neg": "dull \n"}, "cp1252")
    for split in ("test", "all"):
        task = tasks.load("MR", split)
        assert task.sentences == ["a fine cliché …", "", "'tis good … still", "dull"]
        assert task.labels.tolist() == [1, 1, 1, 0]
        assert task.labels.dtype == np.int32


def test_labels_before_and_after_the_sentence(folder) -> None:
    folder(
        {
            "senteval/TREC/TREC_10.label": (
                "NUM:dist How far is it ?\nABBR:exp What is a B : C ?\n"
            ),
            "senteval/SST/fine/sentiment-dev": "4 very good .\n0 very bad .\n",
            "senteval/SST/binary/sentiment-train": "good , but no more \t0\nfine\t1\n",
        }
    )
    trec, fine, binary = (
        tasks.load("TREC"),
        tasks.load("SST5", "dev"),
        tasks.load("SST2", "train"),
    )
    assert (trec.sentences, trec.labels.tolist()) == (
        ["How far is it ?", "What is a B : C ?"],
        [5, 0],
    )
    assert (fine.sentences, fine.labels.tolist()) == (
        ["very good .", "very bad ."],
        [4, 0],
    )
    assert (binary.sentences, binary.labels.tolist()) == (
        ["good , but no more", "fine"],
        [0, 1],
    )


def test_msrp_groups_join_pairs_of_both_files_by_id(folder) -> None:
    train = (
        "1\t1\t2\tone &amp; all\ttwo\r\n1\t9\t8\tnine\teight\r\n0\t4\t9\tfour\tnine\r\n"
    )
    folder(
        {
            "senteval/MRPC/msr_paraphrase_train.txt": MRPC_HEAD + train,
            "senteval/MRPC/msr_paraphrase_test.txt": MRPC_HEAD
            + "1\t3\t1\tthree\tone &amp; all\r\n",
        }
    )
    task = tasks.load("MSRP-groups")
    assert (task.sentences, task.labels.tolist()) == (
        ["one & all", "two", "three"],
        [0, 0, 0],
    )


def test_opinosis_groups_that_share_a_sentence_are_one(folder) -> None:
    first = (
        "loose one\tclear screen\tlong life\n"
        'loose two\t "a sharp, clear screen"\tlasts\nloose three\t\t\n'
    )
    second = (
        "lasts\tlasts\tcheap\n\tlasts for £9 \u2013 days\tlow price\n\tgoes on\tlasts\n"
    )
    folder(
        {
            f"{FOLDERS['Opinosis-groups']}/{name}": table
            for name, table in [("b.data", second), ("a.data", first)]
        },
        "cp1252",
    )
    task = tasks.load("Opinosis-groups")
    assert task.sentences == [
        "long life",
        "lasts",
        "lasts for £9 \u2013 days",
        "goes on",
        "cheap",
        "low price",
    ]
    assert task.labels.tolist() == [0] * 6


def test_opinosis_sentences_come_without_the_quotation_marks_of_their_spreadsheet(
    folder,
) -> None:
    table = (
        'x\t"sharp, clear"\nx\tsharp, clear\nx\ta "sharp" one\nx\t"sharp" and "clear"\n'
    )
    folder({f"{FOLDERS['Opinosis-groups']}/a.data": table}, "cp1252")
    assert tasks.load("Opinosis-groups").sentences == [
        "sharp, clear",
        'a "sharp" one',
        '"sharp" and "clear"',
    ]


# -- what cannot be used ---------------------------------------------------------------

BROKEN = {
    "no tab": (
        "STS13",
        sts13(OnWN_input="A dog sleeps. A dog naps.\n"),
        "OnWN.txt, line 1: 1 tab-separated columns",
    ),
    "wrong encoding": (
        "STS13",
        sts13(FNWN_input="a\tb\n\udce9\tc\n"),
        "line 2: byte 0xe9 is not utf-8",
    ),
    "unknown entailment": (
        "SICK-E",
        {"senteval/SICK/SICK_test_annotated.txt": SICK_HEAD + "1\ta\tb\t3\tNEUTRALE\n"},
        "line 2: label: 'NEUTRALE' is not known; did you mean NEUTRAL",
    ),
    "label missing": (
        "SST2",
        {
            "senteval/SST/binary/sentiment-test": (
                "a sentence that is too long to quote it all\t1\nfine\n"
            )
        },
        "sentiment-test, line 2: no '\\t' in it",
    ),
    "ragged columns": (
        "Opinosis-groups",
        {"opinosis/paraphrase_groups/a.data": "x\ta\tb\ny\tc\n"},
        "a.data, line 2: 2 tab-separated columns; this file has 3",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_file_gets_a_sentence_with_its_line(folder, case) -> None:
    name, files, message = BROKEN[case]
    for path, content in files.items():
        where = folder({path: ""}) / path
        where.write_bytes(content.encode("utf-8", "surrogateescape"))
    with refused(message):
        tasks.load(name)


def test_missing_data_say_where_they_were_looked_for(folder, monkeypatch) -> None:
    here = folder({})
    monkeypatch.setattr(paths, "DATA", here / "project" / "data")
    with pytest.raises(InputError) as error:
        tasks.load("STSBenchmark")
    for part in (
        "STS Benchmark is not here",
        "senteval/STS/STSBenchmark/sts-test.csv",
        str(here / "absent"),
        str(here / "project" / "data"),
        "download Stsbenchmark.tar.gz",
        "SENTENCE_DATA",
    ):
        assert part in str(error.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "STS-Benchmark"}, "did you mean STSBenchmark"),
        (
            {"name": "?"},
            f"accepted: {', '.join(sorted([*SHIPPED, *FOLDERS]))}",
        ),  # all that there are
        (
            {"name": "MRPC", "split": "dev"},
            "split: MRPC has no 'dev'; accepted: train, test, all",
        ),
        (
            {"name": "MR", "split": "train"},
            (
                "split: MR has no 'train'; accepted: test, all (it has no official "
                "splits, so both are all of it)"
            ),
        ),
    ],
)
def test_a_request_that_cannot_be_met_gets_a_sentence(arguments, message) -> None:
    with refused(message):
        tasks.load(**arguments)


# -- closure ---------------------------------------------------------------------------


def test_closure_of_the_papers_example() -> None:
    assert localization.groups_from_pairs is groups_from_pairs
    assert groups_from_pairs([("A", "B"), ("D", "A"), ("B", "C")]) == [
        ["A", "B", "D", "C"]
    ]


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1))
def test_closure_is_the_connected_components_of_scipy(pairs) -> None:
    left, right = np.array(pairs).T
    labels = connected_components(
        coo_array((np.ones(len(pairs)), (left, right)), (13, 13))
    )[1]
    expected = {
        frozenset(np.flatnonzero(labels == label).tolist()) for label in labels[left]
    }
    groups = groups_from_pairs(pairs)
    assert len(groups) == len(expected)
    assert {frozenset(group) for group in groups} == expected


@pytest.mark.parametrize("pairs", [[(1, 2), (3,)], [([1], 2)], [7]])
def test_what_is_no_pair_of_ids_is_refused(pairs) -> None:
    with pytest.raises(
        InputError, match=r"pairs: .* is no pair; give two hashable ids"
    ):
        groups_from_pairs(pairs)
