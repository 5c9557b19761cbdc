"""A user's own embedder, found in every form that is promised.

If it misbehaves, it is stopped with a sentence.
"""

from __future__ import annotations

import re
import time
from threading import Lock

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from lib import embedders, plotting
from lib.base import paths, progress
from lib.embedders import base, own
from lib.embedders.checkpoints import as_input_error
from lib.store import EmbeddingStore
from tests.refusals import refused

SENTENCES = ["one fish", "two fish", "red fish and blue fish", "", "fish"]
SENTENCES += ["no more of them", "a", "b c"]
LENGTHS = [[float(len(sentence)), 1.0] for sentence in SENTENCES]


def lengths(sentences: list[str]) -> np.ndarray:
    return np.array([[len(sentence), 1] for sentence in sentences])


# -- what is accepted ------------------------------------------------------------------


# README: "anything whose `encode(sentences)` returns an array can take an embedder's
# place"
@pytest.mark.parametrize(
    "encode",
    [
        lengths,
        lambda sentences: lengths(sentences).tolist(),
        lambda sentences: sp.csr_matrix(lengths(sentences)),
        lambda sentences: torch.tensor(
            lengths(sentences), dtype=torch.bfloat16, requires_grad=True
        ),
    ],
)
def test_whatever_holds_the_numbers_becomes_float32(encode) -> None:
    vectors = own.load(encode).fit(SENTENCES).encode(SENTENCES, batch_size=3)
    assert vectors.dtype == np.float32
    assert (vectors.toarray() if sp.issparse(vectors) else vectors).tolist() == LENGTHS


def test_an_embedder_that_learns_from_text_is_fitted() -> None:
    mine = own.load(embedders.load("tfidf")).fit(SENTENCES)
    expected = embedders.load("tfidf").fit_encode(SENTENCES)
    np.testing.assert_array_equal(mine.encode(SENTENCES).toarray(), expected.toarray())


# -- where it is found -----------------------------------------------------------------

CODE = """
import numpy as np
from beside import DIM

def encode(sentences):
    return np.ones((len(sentences), DIM)) * len(sentences[0])

class Model:
    def encode(self, sentences):
        return encode(sentences)

ready = Model()
number = 7

def make_from(*settings):
    return Model()
"""


@pytest.fixture
def code(tmp_path):
    (tmp_path / "beside.py").write_text("DIM = 3\n")
    file = tmp_path / "mine.py"
    file.write_text(CODE)
    return file


@pytest.mark.parametrize("name", ["encode", "Model", "ready"])
def test_a_function_a_class_or_an_object_in_a_file(code, name) -> None:
    mine = own.load(f"{code}:{name}")
    assert mine.name == "mine"
    assert mine.encode(["abcd", "e"]).tolist() == [[4, 4, 4]] * 2


def test_a_name_before_the_file_is_what_figures_show(code) -> None:
    name = f"mine={code}:encode"
    assert embedders.load(name).encode(["abcd"]).tolist() == [[4, 4, 4]]
    assert embedders.load(name).name == name
    assert plotting.display_name(name) == "mine"
    assert plotting.display_name(f"{code}:encode") == f"{code}:encode"


def test_a_relative_path_counts_from_the_project_wherever_one_stands(
    tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    mine = own.load("notebooks/own_embedder.py:encode")
    vectors = mine.encode(
        ["Baptized in the river.", "They baptize in rivers.", "Bread and wine", ""]
    ).toarray()
    cosines = vectors @ vectors.T
    assert cosines[0, 1] > 0.4 > cosines[0, 2]
    assert mine.spot_check(SENTENCES) == []


def test_an_edited_file_counts_at_once_and_leaves_no_bytecode(code) -> None:
    before = own.load(f"{code}:encode", "mine")
    code.write_text(CODE.replace("len(sentences[0])", "2"))
    after = own.load(f"{code}:encode", "mine")
    assert after.encode(["abcd"]).tolist() == [[2, 2, 2]]
    assert before.settings != after.settings
    assert not list(code.parent.glob("**/mine*.pyc"))


def test_only_with_a_name_are_vectors_kept(code, tmp_path) -> None:
    store = EmbeddingStore(tmp_path / "store")
    store.embed(own.load(f"{code}:encode"), SENTENCES)
    assert not (tmp_path / "store").exists()
    for name in ("encode", "encode", "Model"):
        store.embed(own.load(f"{code}:{name}", "named"), SENTENCES)
    assert len(list((tmp_path / "store").iterdir())) == 2


def test_a_function_defined_anew_under_the_same_name_gives_new_vectors(
    tmp_path,
) -> None:
    store = EmbeddingStore(tmp_path)
    lock = Lock()  # has no key: then the code alone tells them apart
    first = store.embed(lambda s: [[1, lock.locked()]] * len(s), SENTENCES, "mine")
    second = store.embed(lambda s: [[2, lock.locked()]] * len(s), SENTENCES, "mine")
    assert (first[0].tolist(), second[0].tolist()) == ([1, 0], [2, 0])


# -- what is refused -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("encode", "message"),
    [
        (
            lambda sentences: np.ones(5),
            r"mine: returned shape (5,) for 8 sentences; give (8, dim)",
        ),
        (lambda sentences: None, "mine: did not return an array of numbers"),
        (
            lambda sentences: lengths(sentences) / np.array([1, 0]),
            "NaN or infinity for 'one fish'",
        ),
        (
            lambda sentences: {}["key"],
            "mine: raised KeyError: 'key'; give a function that takes",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_an_embedder_must_not_return_or_raise_gets_a_sentence(
    encode, message
) -> None:
    with refused(message):
        own.load(encode, "mine").encode(SENTENCES)


# -- what is doubtful ------------------------------------------------------------------


class Drifting:
    """Adds to its vectors with every call."""

    calls = 0

    def encode(self, sentences: list[str]) -> np.ndarray:
        self.calls += 1
        return lengths(sentences) + self.calls


@pytest.mark.parametrize("inner", [Drifting(), lambda s: lengths(s) / len(s) + [0, 1]])
def test_the_spot_check_doubts_vectors_that_change_and_equal_ones(
    inner,
) -> None:
    (doubt,) = own.load(inner, "mine").spot_check(SENTENCES)
    assert doubt.startswith("returns different vectors for a sentence")
    equal = own.load(lambda s: np.ones((len(s), 2)), "mine").spot_check(SENTENCES)
    assert equal == ["gives 7 different sentences the same vector."]


# -- slow ones -------------------------------------------------------------------------


def test_a_slow_embedder_shows_progress(monkeypatch, capsys, tmp_path) -> None:
    monkeypatch.setattr(base, "BATCH_SECONDS", 0.04)
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.01)
    monkeypatch.delenv(paths.LOG_VARIABLE, raising=False)

    def slow(sentences: list[str]) -> np.ndarray:
        time.sleep(0.002 * len(sentences))
        return lengths(sentences)

    text = [f"{i} words" for i in range(200)]
    vectors = EmbeddingStore(tmp_path).embed(
        own.load(slow, "slow"), text, show_progress_bar=True
    )
    assert vectors.tolist() == lengths(text).tolist()
    lines = re.findall(r"^encode slow: (\d+) of 200", capsys.readouterr().err, re.M)
    assert len(set(lines)) > 4
    assert lines[-1] == "200"


def test_a_machine_without_enough_memory_is_not_blamed_on_code_or_file(
    tmp_path,
) -> None:
    petabyte = 2**47
    with refused("greedy: needs more memory than is available"):
        own.load(lambda sentences: torch.empty(petabyte), "greedy").encode(SENTENCES)
    with (
        refused(f"{tmp_path}: needs more memory than is available"),
        as_input_error(tmp_path, "download it again"),
    ):
        np.empty(petabyte)


# -- what cannot be found --------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("", "embedder: '' is neither a folder nor a model hub id; give a model's"),
        ("{file}", "mine.py' is neither a folder nor a model hub id"),
        ("{file}:encod", "has no attribute 'encod'"),
        ("{file}:number", "mine: is of type int; give a function that takes a list"),
        ("no_such_module:encode", "no_such_module:encode: raised ModuleNotFoundError"),
        ("other.py:encode", "other.py: no such file"),
        ("{folder}", "{folder}: no model in this folder (no config.json)"),
        ("minilm-avg", "is in the registry; in Python, pass embedders.load"),
        ("{file}:make_from", "array of numbers (type Model); give a function that"),
    ],
)
def test_what_is_not_there_gets_a_sentence(code, spec, message) -> None:
    places = {"file": code, "folder": code.parent}
    with refused(message.replace("{folder}", str(code.parent))):
        own.load(spec.format(**places), "mine").encode(SENTENCES)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("minilm-avg", "is already in the registry"),
        ("glove-6b-50d+usif", "is not accepted"),
    ],
)
def test_names_that_are_taken_or_cannot_be_shown_are_refused(name, message) -> None:
    with refused(message):
        own.load(lengths, name)


# -- among the registry's --------------------------------------------------------------


# README: "names of the list, ids of the model hub, folders, or your own
# `path/to/file.py:function`"
def test_a_function_is_named_wherever_an_embedder_is_and_stored_until_its_file_changes(
    tmp_path, monkeypatch
) -> None:
    file = tmp_path / "mine.py"
    name = f"{file}:encode"
    store = EmbeddingStore(tmp_path / "store")
    found = []
    for width in (1, 2):
        file.write_text(
            "import numpy as np\n\n\ndef encode(sentences):\n"
            f"    return np.ones((len(sentences), {width}))\n"
        )
        here, absent = embedders.select("embedder_names", [name, "tfidf"])
        assert (here, absent) == ([name, "tfidf"], {})
        assert embedders.family(name) == "your own"
        found.append(store.embed(embedders.load(name), SENTENCES).shape)
    assert found == [(len(SENTENCES), 1), (len(SENTENCES), 2)]
