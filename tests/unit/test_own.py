"""A user's own embedder: found in every form that is promised, and stopped with a sentence when it does not behave."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from lib import embedders
from lib.embedders import own
from lib.run.errors import InputError
from lib.store import EmbeddingStore

SENTENCES = ["one fish", "two fish", "red fish and blue fish", "", "fish", "no more of them", "a", "b c"]
LENGTHS = [[float(len(sentence)), 1.0] for sentence in SENTENCES]


def lengths(sentences: list[str]) -> np.ndarray:
    return np.array([[len(sentence), 1] for sentence in sentences])


# -- what is accepted ---------------------------------------------------------------------------


# README: "anything whose `encode(sentences)` returns an array can take an embedder's place"
@pytest.mark.parametrize(
    "encode",
    [
        lengths,
        lambda sentences: lengths(sentences).tolist(),
        lambda sentences: sp.csr_matrix(lengths(sentences)),
        lambda sentences: torch.tensor(lengths(sentences), dtype=torch.bfloat16, requires_grad=True),
    ],
)
def test_whatever_holds_the_numbers_becomes_float32(encode) -> None:
    vectors = own.load(encode).encode(SENTENCES, batch_size=3)
    assert vectors.dtype == np.float32
    assert (vectors.toarray() if sp.issparse(vectors) else vectors).tolist() == LENGTHS


def test_an_embedder_that_learns_from_text_is_fitted_once_and_others_are_left_alone() -> None:
    mine = own.load(embedders.load("tfidf")).fit(SENTENCES)
    expected = embedders.load("tfidf").fit_encode(SENTENCES)
    np.testing.assert_array_equal(mine.encode(SENTENCES).toarray(), expected.toarray())
    assert own.load(lengths).fit(SENTENCES).encode(SENTENCES).tolist() == LENGTHS


# -- where it is found --------------------------------------------------------------------------

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
_hidden = encode
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


def test_a_file_may_define_dataclasses(tmp_path) -> None:
    file = tmp_path / "settings.py"
    file.write_text(
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\n"
        "@dataclass\n"
        "class Model:\n"
        "    dim: int = 2\n"
        "    def encode(self, sentences):\n"
        "        return [[len(sentence)] * self.dim for sentence in sentences]\n"
    )
    assert own.load(f"{file}:Model").encode(["abc", "d"]).tolist() == [[3, 3], [1, 1]]


def test_a_relative_path_counts_from_the_project_wherever_one_stands(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    mine = own.load("notebooks/own_embedder.py:encode")
    vectors = mine.encode(["Baptized in the river.", "They baptize in rivers.", "Bread and wine", ""]).toarray()
    cosines = vectors @ vectors.T
    assert cosines[0, 1] > 0.4 > cosines[0, 2]
    np.testing.assert_allclose(np.diag(cosines), [1, 1, 1, 0], atol=1e-6)
    assert mine.spot_check(SENTENCES) == []


def test_an_edited_file_counts_at_once_and_leaves_no_bytecode(code) -> None:
    before = own.load(f"{code}:encode", "mine")
    code.write_text(CODE.replace("len(sentences[0])", "2"))  # within the same second, perhaps
    after = own.load(f"{code}:encode", "mine")
    assert after.encode(["abcd"]).tolist() == [[2, 2, 2]]
    assert before.cached_as != after.cached_as
    assert not list(code.parent.glob("**/mine*.pyc"))


def test_only_with_a_name_are_vectors_kept(code, tmp_path) -> None:
    unnamed, named = own.load(f"{code}:encode"), own.load(f"{code}:encode", "named")
    assert unnamed.cached_as is None
    assert named.name == "named"
    store = EmbeddingStore(tmp_path / "store")
    for _ in range(2):
        store.embed(named, SENTENCES, name=named.cached_as)
    assert named.sentences == len(SENTENCES)  # the second time they came from the store
    assert own.load(f"{code}:encode", "named").cached_as == named.cached_as
    assert own.load(f"{code}:Model", "named").cached_as != named.cached_as


# -- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("encode", "message"),
    [
        (lambda sentences: np.ones(5), r"mine: returned shape (5,) for 8 sentences; give (8, dim)"),
        (lambda sentences: None, "mine: returned no array of numbers"),
        (lambda sentences: lengths(sentences) / np.array([1, 0]), "NaN or infinity for 'one fish'"),
        (
            lambda sentences: sp.csr_array(np.diag([1, 1, np.nan, 1, 1, 1, 1, 1])),
            "infinity for 'red fish and blue fish'",
        ),
        (
            lambda sentences: {}["key"],
            "mine: raised KeyError: 'key'; give a function that takes",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_an_embedder_must_not_return_or_raise_gets_a_sentence(encode, message) -> None:
    with pytest.raises(InputError) as error:
        own.load(encode, "mine").encode(SENTENCES)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


# -- what is doubtful ---------------------------------------------------------------------------


class Drifting:
    """Adds to its vectors with every call."""

    calls = 0

    def encode(self, sentences: list[str]) -> np.ndarray:
        self.calls += 1
        return lengths(sentences) + self.calls


MOVED = "gives a sentence another vector from call to call, or in other company"
CONSTANT = "gives different sentences one and the same vector"


@pytest.mark.parametrize(
    ("inner", "doubt"),
    [
        (Drifting(), MOVED),
        (lambda s: lengths(s) / len(s) + [0, 1], MOVED),
        (lambda s: np.ones((len(s), 2)), CONSTANT),
    ],
)
def test_the_spot_check_doubts_in_a_sentence_and_does_not_refuse(inner, doubt) -> None:
    doubts = own.load(inner, "mine").spot_check(SENTENCES)
    assert len(doubts) == 1
    assert doubts[0].startswith(f"mine {doubt}")


# -- what cannot be found -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("", "embedder: '' is no folder and no id of the model hub; give a model's folder"),
        ("{file}", "mine.py' is no folder and no id of the model hub; give a model's folder, its id on the model hub"),
        ("{file}:encod", "has no attribute 'encod'"),
        ("{file}:number", "mine: is of type int; give a function that takes a list of strings"),
        ("no_such_module:encode", "no_such_module:encode raised ModuleNotFoundError"),
        ("{folder}", "does not say how its tokens are pooled; give cls, last, avg"),
    ],
)
def test_what_is_not_there_gets_a_sentence(code, spec, message) -> None:
    with pytest.raises(InputError) as error:
        own.load(spec.format(file=code, folder=code.parent), "mine")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("minilm-avg", "is one of the registry's embedders"),
        ("glove-6b-50d+usif", "is not accepted"),
        ("x" * 41, "is not accepted; give 1 to 40 letters"),
    ],
)
def test_names_that_are_taken_or_cannot_be_shown_are_refused(name, message) -> None:
    with pytest.raises(InputError, match=message):
        own.load(lengths, name)
