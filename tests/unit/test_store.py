"""The store encodes once, resumes after a kill with the same bytes, and notices damage."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import scipy.sparse as sp

from lib import corpora, embedders, store, text
from lib.embedders.base import Embedder
from lib.errors import InputError

SENTENCES = [f"sentence number {i} of many" for i in range(50)]


class Letters(Embedder):
    """Letter counts, dense or sparse; counts the sentences that it has encoded."""

    def __init__(self, sparse: bool = False, version: int = 1) -> None:
        self.name, self.sparse, self.version, self.encoded = "letters", sparse, version, 0

    @property
    def settings(self) -> dict:
        return {"sparse": self.sparse}

    def _encode(self, sentences):
        self.encoded += len(sentences)
        counts = np.array([[s.count(chr(97 + j)) for j in range(26)] for s in sentences], np.float32).reshape(-1, 26)
        return sp.csr_array(counts) if self.sparse else counts


@pytest.fixture(autouse=True)
def small_shards(monkeypatch) -> None:
    monkeypatch.setattr(store, "SHARD", 8)


def dense(vectors) -> np.ndarray:
    return vectors.toarray() if sp.issparse(vectors) else np.asarray(vectors)


def is_mapped(array) -> bool:
    while array is not None and not isinstance(array, np.memmap):
        array = getattr(array, "base", None)
    return array is not None


@pytest.mark.parametrize("sparse", [False, True])
def test_what_comes_back_is_what_was_encoded_and_the_second_time_nothing_is(tmp_path, sparse) -> None:
    expected = dense(Letters(sparse).encode(SENTENCES))
    for encoded in (50, 0):
        embedder = Letters(sparse)
        vectors = store.EmbeddingStore(tmp_path).embed(embedder, SENTENCES)
        np.testing.assert_array_equal(dense(vectors), expected)
        assert embedder.encoded == encoded
    for array in (vectors.data, vectors.indices) if sparse else (vectors,):
        assert is_mapped(array)
        assert not array.flags.writeable


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


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("damage", ["flip", "truncate", "journal", "rubbish"])
def test_damage_is_noticed_and_made_good(tmp_path, sparse, damage, caplog) -> None:
    stored = store.EmbeddingStore(tmp_path)
    expected = dense(stored.embed(Letters(sparse), SENTENCES)).copy()
    (entry,) = tmp_path.iterdir()
    file = entry / ("data" if sparse else "vectors")
    content = bytearray(file.read_bytes())
    if damage == "flip":
        content[len(content) // 2] ^= 1
    if damage == "truncate":
        del content[-5:]
    if damage == "rubbish":  # what a kill leaves behind between the bytes of a shard and its line
        content += b"half a shard"
    file.write_bytes(content)
    if damage == "journal":
        journal = entry / "shards.jsonl"
        journal.write_bytes(journal.read_bytes()[:-7])
    embedder = Letters(sparse)
    np.testing.assert_array_equal(dense(stored.embed(embedder, SENTENCES)), expected)
    assert 0 < embedder.encoded < 50 if damage != "rubbish" else embedder.encoded == 0
    assert ("damaged" in caplog.text) == (damage in ("flip", "truncate"))


def test_a_killed_run_is_finished_by_the_next_with_the_same_bytes(tmp_path) -> None:
    program = textwrap.dedent(
        """
        import os, signal, sys
        from lib import store
        from tests.unit.test_store import SENTENCES, Letters

        class Deadly(Letters):
            def _encode(self, sentences):
                if self.encoded >= int(sys.argv[2]):
                    os.kill(os.getpid(), signal.SIGKILL)
                return super()._encode(sentences)

        store.SHARD = 8
        store.EmbeddingStore(sys.argv[1]).embed(Deadly(), SENTENCES)
        """
    )
    whole = store.EmbeddingStore(tmp_path / "whole")
    whole.embed(Letters(), SENTENCES)
    for after in (0, 8, 40):
        folder = tmp_path / f"killed after {after}"
        ended = subprocess.run([sys.executable, "-c", program, folder, str(after)], cwd=corpora.paths.ROOT)
        assert ended.returncode == -signal.SIGKILL
        embedder = Letters()
        store.EmbeddingStore(folder).embed(embedder, SENTENCES)
        assert embedder.encoded == 50 - after
        for file in ("vectors", "shards.jsonl", "entry.json"):
            one, other = (next(path.rglob(file)).read_bytes() for path in (tmp_path / "whole", folder))
            assert one == other


def test_an_embedder_that_needs_it_is_fitted_on_the_corpus_only_when_something_is_missing(tmp_path) -> None:
    stored = store.EmbeddingStore(tmp_path)
    first, second = embedders.load("bow"), embedders.load("bow")
    stored.embed(first, SENTENCES)
    stored.embed(second, SENTENCES)
    assert first.fitted_on == text.fingerprint(SENTENCES)
    assert second.fitted_on is None
    elsewhere = embedders.load("bow").fit(["other words"])
    assert stored.embed(elsewhere, SENTENCES).shape[1] == 2


def test_companions_are_stored_in_the_same_pass(tmp_path) -> None:
    class Twin(Letters):
        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

        @property
        def companions(self):
            return [Twin("b" if self.name == "a" else "a")]

        def _encode_together(self, sentences):
            return [self._encode(sentences), -self._encode(sentences)]

    stored = store.EmbeddingStore(tmp_path)
    first = stored.embed(Twin("a"), SENTENCES)
    second_embedder = Twin("b")
    second = stored.embed(second_embedder, SENTENCES)
    assert second_embedder.encoded == 0
    np.testing.assert_array_equal(first, -np.asarray(second))


class Foreign:
    """Not one of ours; it only has `encode`."""

    def __init__(self, *results) -> None:
        self.results = list(results)
        self.calls = 0

    def encode(self, sentences):
        self.calls += 1
        result = self.results[min(self.calls, len(self.results)) - 1]
        return result(len(sentences)) if callable(result) else result


def test_a_foreign_encode_is_cached_under_a_name_and_only_then(tmp_path) -> None:
    stored = store.EmbeddingStore(tmp_path)
    foreign = Foreign(lambda n: np.ones((n, 3)))
    assert stored.embed(foreign, SENTENCES).shape == (50, 3)
    assert not list(tmp_path.iterdir())
    stored.embed(foreign, SENTENCES, name="mine: v1/é")
    calls = foreign.calls
    stored.embed(foreign, SENTENCES, name="mine: v1/é")
    assert foreign.calls == calls
    (entry,) = tmp_path.iterdir()
    assert json.loads((entry / "entry.json").read_text())["name"] == "mine: v1/é"


@pytest.mark.parametrize(
    ("results", "message"),
    [
        ([lambda n: np.ones((n + 1, 3))], "returned shape (9, 3) for 8 sentences; give (8, dim)"),
        ([lambda n: np.ones(n)], "returned shape (8,)"),
        ([lambda n: np.full((n, 3), np.nan)], "NaN or infinity"),
        ([lambda n: np.ones((n, 3)), lambda n: np.ones((n, 4))], "4 dimensions, and 3 before"),
    ],
)
def test_a_foreign_encode_that_returns_the_wrong_thing_gets_a_sentence(tmp_path, results, message) -> None:
    with pytest.raises(InputError) as error:
        store.EmbeddingStore(tmp_path).embed(Foreign(*results), SENTENCES, name="mine")
    assert message in str(error.value)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full, a disk that is always full")
def test_a_full_disk_gets_a_sentence_and_loses_nothing(tmp_path) -> None:
    stored = store.EmbeddingStore(tmp_path)
    stored.embed(Letters(), SENTENCES[:8])
    (entry,) = tmp_path.iterdir()
    with pytest.raises(InputError, match=r"cannot be written \(No space left on device\); what is there is kept"):
        store._append(store.Path("/dev/full"), b"x" * 100)
    assert (entry / "vectors").stat().st_size == 8 * 26 * 4


def test_two_processes_on_one_store_do_not_corrupt_it(tmp_path) -> None:
    program = (
        "import sys; from lib import store; from tests.unit.test_store import SENTENCES, Letters; store.SHARD = 8; "
        "store.EmbeddingStore(sys.argv[1]).embed(Letters(), SENTENCES)"
    )
    running = [subprocess.Popen([sys.executable, "-c", program, tmp_path], cwd=corpora.paths.ROOT) for _ in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]
    embedder = Letters()
    vectors = store.EmbeddingStore(tmp_path).embed(embedder, SENTENCES)
    np.testing.assert_array_equal(vectors, Letters().encode(SENTENCES))
    assert embedder.encoded == 0


def test_size_and_prune(tmp_path) -> None:
    stored = store.EmbeddingStore(tmp_path / "cache")
    stored.embed(Letters(), SENTENCES)
    size = stored.size()
    assert size > 50 * 26 * 4
    assert stored.prune() == size
    assert stored.size() == 0
