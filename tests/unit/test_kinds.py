"""The registry's statements about embedders; those on word order are true."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from lib import corpora, embedders, plotting, similarity
from lib.embedders import kinds, own
from lib.embedders.registry import COMPOSITIONS, ENTRIES
from tests.official.transformers import write_bert
from tests.unit.test_embedders import COMPOSED, HERE
from tests.unit.test_hub import write_model

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


AVERAGE, TRANSFORMER = kinds.STATIC_AVERAGE, kinds.TRANSFORMER


@pytest.mark.parametrize(
    ("name", "architecture", "reads_order"),
    [
        ("glove-6b-50d+usif", kinds.POOLED_WORDS, False),
        ("glove-6b-50d+random-lstm-128d", kinds.RANDOM, True),
        ("sent2vec-wiki-bigrams", kinds.NGRAM_AVERAGE, True),
        ("urae-corpus", kinds.RECURSIVE, True),
        ("elmo-orig", kinds.RECURRENT, True),
        ("infersent-v1", kinds.RECURRENT, True),
        ("use-dan", kinds.NGRAM_AVERAGE, True),
        ("bert-base-cls", TRANSFORMER, True),
        ("BAAI/bge-small-en-v1.5", TRANSFORMER, True),
        ("intfloat/e5-base-v2", TRANSFORMER, True),
        ("thenlper/gte-small", TRANSFORMER, True),
        ("sentence-transformers/all-mpnet-base-v2", TRANSFORMER, True),
        ("sentence-transformers/LaBSE", TRANSFORMER, True),
        ("sentence-transformers/static-retrieval-mrl-en-v1", AVERAGE, False),
    ],
)
def test_kinds_of_well_known_embedders(name, architecture, reads_order) -> None:
    kind = embedders.kind(name)
    assert (kind.architecture, kind.reads_order) == (architecture, reads_order)


@pytest.mark.parametrize(
    ("name", "origin"),
    [
        ("tfidf", "word counts"),
        ("lsa-corpus", "trained here"),
        ("glove-6b-50d+urae", "trained here"),
        ("glove-6b-50d+w2v-corpus+power-means", "trained here"),
        ("glove-6b-50d+usif", "pretrained"),
        ("minilm-avg", "pretrained"),
    ],
)
def test_what_is_trained_here_in_part_is_trained_here(name, origin) -> None:
    assert embedders.kind(name).origin == origin


def test_six_averages_are_in_the_default_group() -> None:
    averages = {
        name
        for name in embedders.GROUPS["installed"]
        if embedders.kind(name).architecture == AVERAGE
    }
    assert averages == {
        "glove-6b-50d", "wordllama", "w2v-corpus", "fasttext-corpus",
        "fasttext-corpus-sub", "sent2vec-corpus-uni",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("tfidf", "bow", True),
        ("minilm-cls", "minilm-avg", True),
        ("minilm-avg", "sentence-transformers/all-MiniLM-L12-v2", True),
        ("w2v-corpus", "fasttext-corpus-sub", True),
        ("glove-6b-50d", "glove-6b-300d+sif", True),
        ("glove-6b-50d", "glove-6b-50d+w2v-corpus+power-means", True),
        ("glove-6b-300d", "glove-840b-300d", False),
        ("fasttext-cc", "fasttext-wiki", False),
        ("fasttext-cc", "fasttext-cc-sub", True),
        ("elmo-small", "elmo-orig", True),
        ("elmo-orig", "elmo-orig-5.5b", False),
        ("sent2vec-corpus-uni", "w2v-corpus", False),
        ("sent2vec-corpus-uni", "sent2vec-corpus-bi", True),
        ("some/model", "some/model", True),
        ("some/model", "another/model", False),
    ],
)
def test_related_embedders_share_method_and_text(a, b, expected) -> None:
    assert embedders.related(a, b) is embedders.related(b, a) is expected


def test_relatives_of_relatives_are_one_family() -> None:
    names = [
        "glove-6b-50d",
        "tfidf",
        "glove-6b-50d+w2v-corpus+power-means",
        "fasttext-corpus",
        "wordllama",
    ]
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
        write_bert(tmp_path / "of transformers"): (TRANSFORMER, True),
        _with_modules(tmp_path / "static", "StaticEmbedding", "Normalize"): (
            AVERAGE,
            False,
        ),
        _with_modules(tmp_path / "recurrent", "WordEmbeddings", "LSTM", "Pooling"): (
            kinds.RECURRENT,
            True,
        ),
        _with_modules(tmp_path / "counts", "BoW"): (kinds.WORD_COUNTS, False),
        _with_modules(tmp_path / "silent", "Mystery"): (kinds.UNKNOWN, None),
    }
    for folder, (architecture, reads_order) in found.items():
        kind = embedders.kind(str(folder))
        assert (kind.architecture, kind.reads_order, kind.objective) == (
            architecture,
            reads_order,
            kinds.UNKNOWN,
        )
        assert kind.origin in {"pretrained", "word counts"}
    silent = str(tmp_path / "silent")
    assert embedders.of_unknown_kind(["tfidf", silent]) == [silent]


def test_a_static_model_of_sentence_transformers_is_an_average(tmp_path) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(
        models.WordLevel(
            {"[UNK]": 0, "the": 1, "dog": 2, "bites": 3}, unk_token="[UNK]"
        )
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_dim=4)]).save(
        str(tmp_path / "static")
    )
    assert embedders.kind(str(tmp_path / "static")).architecture == AVERAGE
    vectors = embedders.load(str(tmp_path / "static")).encode(
        ["the dog bites", "bites dog the"]
    )
    np.testing.assert_allclose(vectors[0], vectors[1], atol=1e-6)


def test_a_users_own_is_unknown_unless_its_files_speak(tmp_path) -> None:
    def lengths(sentences):
        return np.array([[len(sentence), 1] for sentence in sentences])

    assert own.load(lengths, "mine").kind == kinds.unknown("mine")
    assert own.load(lengths, "mine").kind.origin == kinds.UNKNOWN
    assert (
        own.load(str(write_model(tmp_path / "model"))).kind.architecture == TRANSFORMER
    )
    (tmp_path / "mine.py").write_text(
        "def embed(sentences):\n    return [[len(text)] for text in sentences]\n"
    )
    by_name = f"{tmp_path}/mine.py:embed"
    assert embedders.kind(by_name).origin == kinds.UNKNOWN
    assert embedders.of_unknown_kind(["tfidf", by_name]) == [by_name]


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


@pytest.mark.parametrize("name", [*HERE, *COMPOSED])
def test_just_those_that_read_the_order_see_a_permutation(name, texts) -> None:
    sentences, permuted = texts
    model = embedders.load(name).fit(sentences)
    cosines = similarity.similarities(model.encode(sentences), model.encode(permuted))
    lengths = np.array(
        [abs(model.encode([text])).sum() for text in sentences]
    )  # no vector, no order
    assert (np.abs(1 - cosines[lengths > 0]).max() > 1e-6) == embedders.kind(
        name
    ).reads_order


def test_what_the_registry_does_not_know_is_of_unknown_kind_in_figures() -> None:
    found = plotting.groups(["tfidf", "published-elsewhere"])
    assert found.to_list() == [kinds.WORD_COUNTS, kinds.UNKNOWN]
