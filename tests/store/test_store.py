"""The store encodes once; `tests.trust.test_cache` tests kills and damage."""

from __future__ import annotations

import json
import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from lib import embedders, store
from lib.base import paths
from lib.corpora import text
from lib.embedders import own
from lib.embedders.base import Embedder
from tests.copies import new_cache
from tests.letters import letters, write_letters
from tests.refusals import refused
from tests.trust.launcher import context

SENTENCES = [f"sentence number {i} of many" for i in range(50)]


class Letters(Embedder):
    """Letter counts, dense or sparse; counts the sentences that it has encoded."""

    def __init__(self, sparse: bool = False, version: int = 1) -> None:
        self.name = "letters"
        self.sparse = sparse
        self.version = version
        self.encoded = 0

    @property
    def settings(self) -> dict:
        return {"sparse": self.sparse}

    def _encode(self, sentences):
        self.encoded += len(sentences)
        counts = letters(sentences).astype(np.float32)
        return sp.csr_array(counts) if self.sparse else counts


@pytest.fixture(autouse=True)
def small_shards(monkeypatch) -> None:
    monkeypatch.setattr(store.shards, "SIZE", 8)


def dense(vectors) -> np.ndarray:
    return vectors.toarray() if sp.issparse(vectors) else np.asarray(vectors)


def is_mapped(array) -> bool:
    while array is not None and not isinstance(array, np.memmap):
        array = getattr(array, "base", None)
    return array is not None


@pytest.mark.parametrize("sparse", [False, True])
def test_what_comes_back_is_what_was_encoded_and_the_second_time_nothing_is(
    tmp_path, sparse
) -> None:
    expected = dense(Letters(sparse).encode(SENTENCES))
    for encoded in (50, 0):
        embedder = Letters(sparse)
        vectors = store.EmbeddingStore(tmp_path).embed(embedder, SENTENCES)
        np.testing.assert_array_equal(dense(vectors), expected)
        assert embedder.encoded == encoded
    for array in (vectors.data, vectors.indices) if sparse else (vectors,):
        assert is_mapped(array)
        assert not array.flags.writeable


@pytest.fixture
def few_files() -> Iterator[None]:
    """The system lets this process open at most 20 more files."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    # A new file takes the lowest free number, and the limit is on the number: those
    # between may be in use.
    with ExitStack() as stack:
        free = [stack.enter_context(open(os.devnull)).fileno() for _ in range(20)]
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(free) + 1, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


# A corpus of 2.1 million sentences has more shards than the 1,024 files that a process
# may usually open.
@pytest.mark.parametrize("sparse", [False, True])
def test_a_text_may_have_more_shards_than_a_process_may_open_files(
    tmp_path, monkeypatch, few_files, sparse
) -> None:
    monkeypatch.setattr(store.shards, "SIZE", 1)
    vectors = store.EmbeddingStore(tmp_path).embed(Letters(sparse), SENTENCES)
    np.testing.assert_array_equal(
        dense(vectors), dense(Letters(sparse).encode(SENTENCES))
    )


def test_another_text_version_or_setting_is_another_entry(tmp_path) -> None:
    stored = store.EmbeddingStore(tmp_path)
    stored.embed(Letters(), SENTENCES)
    for embedder, sentences in (
        (Letters(), SENTENCES[1:]),
        (Letters(version=2), SENTENCES),
        (Letters(True), SENTENCES),
    ):
        stored.embed(embedder, sentences)
        assert embedder.encoded == len(sentences)


class Sharing(Letters):
    """One of several embedders that share some companions."""

    def __init__(self, name: str, others: str = "") -> None:
        super().__init__()
        self.name, self.others = name, others

    @property
    def companions(self) -> list[Sharing]:
        return [Sharing(other) for other in self.others]

    def encode_with_companions(self, sentences) -> list:
        counts = self._encode(sentences)
        return [counts * ord(name) for name in self.name + self.others]


def embed_in_shards(folder: Path, embedder: Embedder) -> None:
    store.shards.SIZE = 8
    store.EmbeddingStore(folder).embed(embedder, SENTENCES)


def test_embedders_that_share_companions_neither_mix_nor_wait_for_each_other(
    tmp_path,
) -> None:
    names = {"a": "b", "b": "c", "c": "a", "d": "abc"}
    pairs = [(tmp_path, Sharing(name, others)) for name, others in names.items()]
    running = [context.Process(target=embed_in_shards, args=pair) for pair in pairs]
    for process in running:
        process.start()
    for process in running:
        process.join()
    assert [process.exitcode for process in running] == [0] * 4
    for name in names:
        embedder = Sharing(name)
        vectors = store.EmbeddingStore(tmp_path).embed(embedder, SENTENCES)
        np.testing.assert_array_equal(vectors, ord(name) * Letters().encode(SENTENCES))
        assert embedder.encoded == 0


# -- embedders -------------------------------------------------------------------------


def test_an_embedder_is_fitted_on_the_corpus_only_when_something_is_missing(
    tmp_path,
) -> None:
    stored = store.EmbeddingStore(tmp_path)
    first = embedders.load("bow")
    second = embedders.load("bow")
    stored.embed(first, SENTENCES)
    stored.embed(second, SENTENCES)
    assert first.fitted_on == text.fingerprint(SENTENCES)
    assert second.fitted_on is None
    elsewhere = embedders.load("bow").fit(["other words"])
    assert stored.embed(elsewhere, SENTENCES).shape[1] == 2


class Foreign:
    """Not one of ours; it returns arrays of ones of each of these widths in turn."""

    def __init__(self, *widths: int) -> None:
        self.widths = list(widths)

    def encode(self, sentences):
        width = self.widths.pop(0)
        return np.full((len(sentences), abs(width)), 1.0 if width > 0 else np.nan)


def test_a_foreign_encode_is_cached_under_a_name_and_only_then(tmp_path) -> None:
    stored = store.EmbeddingStore(tmp_path / "store")
    given = write_letters(tmp_path / "mine.py")
    for foreign in (given, letters):
        vectors = stored.embed(foreign, SENTENCES)
        np.testing.assert_allclose(vectors, letters(SENTENCES))
    assert not (tmp_path / "store").exists()
    for foreign in (Foreign(*[3] * 7), Foreign()):
        assert stored.embed(foreign, SENTENCES, name="mine: v1/é").shape == (50, 3)
    (entry,) = (tmp_path / "store").iterdir()
    assert json.loads((entry / "about.json").read_text())["key"]["name"] == "mine: v1/é"


def test_a_foreign_encode_that_returns_the_wrong_thing_gets_a_sentence(
    tmp_path,
) -> None:
    stored = store.EmbeddingStore(tmp_path)
    with refused("NaN or infinity"):
        stored.embed(Foreign(-3), SENTENCES, name="mine")
    with refused("4 dimensions, and dense vectors of 3 dimensions on an"):
        stored.embed(Foreign(3, 4), SENTENCES, name="yours")


def test_a_corpus_without_sentences_gets_a_sentence(tmp_path) -> None:
    with refused("corpus: has no sentences; give at least one"):
        store.EmbeddingStore(tmp_path).embed(Letters(), [])


@pytest.mark.parametrize("corpus", ["One sentence.", iter(["One sentence."])])
def test_one_string_or_a_generator_is_no_corpus(tmp_path, corpus) -> None:
    with refused("; give a Corpus or a list of sentences"):
        store.EmbeddingStore(tmp_path).embed(Foreign(3), corpus, name="mine")


# README: "your own `path/to/file.py:function`"
def test_an_own_embedder_is_fitted_and_stored_by_the_text_it_was_fitted_on(
    tmp_path,
) -> None:
    code = tmp_path / "own.py"
    code.write_text(
        "import numpy as np\n"
        "def f(sentences): return np.array([[len(s), s.count('a')] for s in sentences])"
    )
    stored = store.EmbeddingStore(tmp_path / "store")
    spec = f"{code}:f@int8"
    other = ["A much longer text, so that steps are longer, too.", *SENTENCES[:9]]
    for learned_from in (SENTENCES, other):
        fitted = own.load(spec, "mine").fit(learned_from)
        expected = fitted.encode(SENTENCES)
        found = stored.embed(fitted, SENTENCES)
        np.testing.assert_array_equal(found, expected)
    unfitted = stored.embed(spec, SENTENCES)
    expected = own.load(spec).fit(SENTENCES).encode(SENTENCES)
    np.testing.assert_array_equal(unfitted, expected)


# README: "see or delete the cache: `make cache`, `make prune`"
def test_a_cache_is_shown_and_deleted(tmp_path) -> None:
    store.EmbeddingStore(tmp_path / "cache").embed(Letters(), SENTENCES)
    variables = os.environ | {"SENTENCE_CACHE": str(tmp_path / "cache")}
    for target, shown in {"cache": str(tmp_path / "cache"), "prune": ""}.items():
        said = subprocess.check_output(
            ["make", target], cwd=paths.ROOT, env=variables, text=True
        )
        assert shown in said
    assert not (tmp_path / "cache").exists()


# -- fitting ---------------------------------------------------------------------------

TEXT = ["the dog barks", "a cat and a dog", "the cat sleeps", "dogs bark and sleep"]


def test_many_embedders_give_what_each_gives_alone_in_the_order_asked_for(
    tmp_path, place
) -> None:
    names = ["tfidf", "w2v-corpus-8d", "bow", "w2v-corpus-6d"]
    together = store.EmbeddingStore(tmp_path / "together").embed_all(names, TEXT)
    assert list(together) == list(together.seconds) == names
    assert min(together.seconds.values()) > 0
    alone = store.EmbeddingStore(tmp_path / "alone")
    for name, vectors in together.items():
        expected = alone.embed(embedders.load(name), TEXT)
        np.testing.assert_array_equal(dense(vectors), dense(expected))


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "CACHE", new_cache(tmp_path / "cache"))
    return paths.CACHE


@pytest.mark.parametrize(
    ("name", "options"),
    [("tfidf", {}), ("glove-6b-50d+sif", {"a": 0.01}), ("glove-6b-50d+sif", {"a": 1})],
)
def test_a_fitted_embedder_is_as_if_fitted_now_whatever_was_fitted_before(
    place, name, options
) -> None:
    store.fit(embedders.load(name), TEXT)  # with other options
    for text_of_it in (TEXT, TEXT[1:], TEXT):
        expected = embedders.load(name, **options).fit(text_of_it)
        found = store.fit(embedders.load(name, **options), text_of_it)
        assert found.fitted_on == expected.fitted_on
        vectors = found.encode(TEXT)
        np.testing.assert_array_equal(dense(vectors), dense(expected.encode(TEXT)))


def test_what_needs_no_text_or_has_it_is_left_alone(place) -> None:
    store.fit(embedders.load("glove-6b-50d"), TEXT)
    once = embedders.load("bow").fit(["other words"])
    assert store.fit(once, TEXT).vocabulary == {"other": 0, "words": 1}
    assert not (place / "fitted").exists()
