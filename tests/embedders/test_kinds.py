"""The registry's statements about embedders; those on word order are true."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from lib import corpora, embedders, similarity
from lib.embedders import kinds
from lib.embedders.registry import COMPOSITIONS, ENTRIES
from tests.embedders.test_embedders import NAMES, SLOW
from tests.embedders.test_hub import write_model
from tests.letters import write_letters
from tests.official.transformers import write_bert

CONSTANTS = {value for value in vars(kinds).values() if isinstance(value, str)}
ORIGINS = {*kinds.ORIGINS}


@pytest.mark.parametrize(
    "name", [*ENTRIES, *(f"glove-6b-50d+{suffix}" for suffix in COMPOSITIONS)]
)
def test_every_embedder_has_a_kind(name) -> None:
    kind = embedders.kind(name)
    assert {kind.architecture, kind.objective} <= CONSTANTS - {kinds.UNKNOWN}
    assert isinstance(kind.reads_order, bool)
    assert kind.origin in ORIGINS
    assert kind.method
    assert kind.text
    assert embedders.of_unknown_kind([name]) == []


AVERAGE = kinds.STATIC_AVERAGE
TRANSFORMER = kinds.TRANSFORMER


@pytest.mark.parametrize(
    ("name", "architecture", "origin"),
    [
        ("tfidf", kinds.WORD_COUNTS, "word counts"),
        ("glove-6b-50d", AVERAGE, "pretrained"),
        ("glove-6b-50d+urae", kinds.RECURSIVE, "trained here"),
        ("glove-6b-50d+w2v-corpus+power-means", kinds.POOLED_WORDS, "trained here"),
        ("sent2vec-wiki-bigrams", kinds.NGRAM_AVERAGE, "pretrained"),
        ("intfloat/e5-base-v2", TRANSFORMER, "pretrained"),
        ("sentence-transformers/static-retrieval-mrl-en-v1", AVERAGE, "pretrained"),
    ],
)
def test_kinds_of_well_known_embedders(name, architecture, origin) -> None:
    kind = embedders.kind(name)
    assert (kind.architecture, kind.origin) == (architecture, origin)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("minilm-avg", "sentence-transformers/all-MiniLM-L12-v2", True),
        ("w2v-corpus", "fasttext-corpus-sub", True),
        ("glove-6b-50d", "glove-6b-300d+sif", True),
        ("glove-6b-50d", "glove-6b-50d+w2v-corpus+power-means", True),
        ("glove-6b-300d", "glove-840b-300d", False),
        ("sent2vec-corpus-uni", "w2v-corpus", False),
        ("some/model", "another/model", False),
    ],
)
def test_related_embedders_share_method_and_text(a, b, expected) -> None:
    assert embedders.related(a, b) is embedders.related(b, a) is expected


def test_relatives_of_relatives_are_one_family() -> None:
    joining = "glove-6b-50d+w2v-corpus+power-means"
    names = ["glove-6b-50d", "tfidf", joining, "fasttext-corpus", "wordllama"]
    assert embedders.families(names).tolist() == [0, 1, 0, 0, 2]


# -- models of others ------------------------------------------------------------------


def _with_modules(folder: Path, *names: str) -> Path:
    folder.mkdir()
    modules = [
        {"idx": i, "name": str(i), "path": "", "type": f"a.package.{name}"}
        for i, name in enumerate(names)
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    return folder


def test_a_models_own_files_say_what_it_is(tmp_path) -> None:
    found = {
        write_model(tmp_path / "pooled"): (TRANSFORMER, True),
        write_bert(tmp_path / "plain"): (TRANSFORMER, True),
        _with_modules(tmp_path / "static", "StaticEmbedding"): (AVERAGE, False),
        _with_modules(tmp_path / "lstm", "WordEmbeddings", "LSTM", "Pooling"): (
            kinds.RECURRENT,
            True,
        ),
        _with_modules(tmp_path / "silent", "Mystery"): (kinds.UNKNOWN, None),
    }
    for folder, expected in found.items():
        kind = embedders.kind(str(folder))
        assert (kind.architecture, kind.reads_order) == expected
        assert (kind.objective, kind.origin) == (kinds.UNKNOWN, "pretrained")
    silent = str(tmp_path / "silent")
    assert embedders.of_unknown_kind(["tfidf", silent]) == [silent]


def test_a_users_own_is_unknown_unless_its_files_speak(tmp_path) -> None:
    name = write_letters(tmp_path / "mine.py")
    assert embedders.kind(name) == kinds.unknown(name)
    model = embedders.kind(str(write_model(tmp_path / "model")))
    assert model.architecture == TRANSFORMER


# -- word order ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def texts() -> tuple[list[str], list[str]]:
    """Sentences in lower case, with words and marks separated by blanks.

    Also the same sentences with their words in another order.
    """
    words = [
        sentence.lower().replace(".", " .").split()
        for sentence in corpora.load("lee").sentences[:60]
    ]
    rng = np.random.default_rng(1)
    return [" ".join(each) for each in words], [
        " ".join(rng.permutation(each)) for each in words
    ]


@pytest.mark.parametrize("name", NAMES)
def test_just_those_that_read_the_order_see_a_permutation(name, texts) -> None:
    some = 6 if name.startswith(SLOW) else None
    sentences, permuted = (each[:some] for each in texts)
    model = embedders.load(name).fit(sentences)
    cosines = similarity.similarities(model.encode(sentences), model.encode(permuted))
    lengths = np.array(
        [abs(model.encode([text])).sum() for text in sentences]
    )  # no vector, no order
    assert (np.abs(1 - cosines[lengths > 0]).max() > 1e-6) == embedders.kind(
        name
    ).reads_order
