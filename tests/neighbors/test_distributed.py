"""A cluster matches a single process, whatever happens to its workers."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import MagicMock

import numpy as np
import pytest
import scipy.sparse as sp

from lib import neighbors, store
from lib.base import cluster, parameters, paths
from lib.neighbors import distributed
from tests.refusals import refused
from tests.store.test_store import SENTENCES, Letters, dense
from tests.trust.launcher import tree

QUERIES = np.array([0, 3, 70, 119])


@pytest.fixture(scope="module")
def client(tmp_path_factory) -> Iterator:
    """Of two worker processes on this machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paths, "CACHE", tmp_path_factory.mktemp("cache"))
        with cluster.connect("local", processes=2) as client:
            yield client


# -- search ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    """120 small-integer vectors, then scaled copies, so many similarities tie."""
    rng = np.random.default_rng(1)
    once = rng.integers(-1, 2, size=(60, 6)).astype(np.float32)
    once[::9] = 0
    return np.concatenate([once, 3 * once])


def saved(vectors: np.ndarray, folder: Path) -> np.ndarray:
    np.save(folder / "vectors.npy", vectors)
    return np.load(folder / "vectors.npy", mmap_mode="r")


def stored(vectors: np.ndarray, folder: Path, kind: Callable = np.asarray):
    """As the store returns them."""

    class Given:
        def encode(self, sentences):
            return kind(vectors[[int(sentence) for sentence in sentences]])

    places = [str(i) for i in range(len(vectors))]
    return store.EmbeddingStore(folder).embed(Given(), places, name="given")


KINDS = {
    "array": lambda vectors, folder: vectors,
    "memory-map": saved,
    "the store's memory-map": stored,
    "CSR": lambda vectors, folder: sp.csr_array(vectors),
    "the store's CSR": lambda vectors, folder: stored(vectors, folder, sp.csr_array),
}


# README: "search or encode on a cluster"
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shards", [None, 7, 50])  # of 50 shards each is smaller than k
def test_same_neighbors_as_one_process_with_ties_across_shards(
    client, vectors, tmp_path, kind, shards
) -> None:
    corpus = KINDS[kind](vectors, tmp_path)
    options = {"k": 9, "exclude": QUERIES}
    found = distributed.exact(
        corpus[QUERIES], corpus, client=client, shards=shards, **options
    )
    alone = neighbors.exact(corpus[QUERIES], corpus, **options)
    np.testing.assert_array_equal(found.ids, alone.ids)
    np.testing.assert_array_equal(found.similarities, alone.similarities)


def test_a_query_that_may_return_nothing_of_a_shard_takes_its_neighbors_from_the_others(
    client,
) -> None:
    corpus = np.eye(4, dtype=np.float32)
    found = distributed.exact(
        corpus[:2], corpus, 2, exclude=[[0, 1], []], client=client, shards=2
    )
    assert found.ids.tolist() == [[2, 3], [1, 0]]
    nothing = distributed.exact(corpus[:0], corpus, 2, client=client)
    assert nothing.ids.shape == (0, 2)


def test_a_worker_killed_in_the_middle_changes_nothing(
    client, rng, tmp_path, monkeypatch
) -> None:
    once = rng.normal(size=(8000, 32)).astype(np.float32)
    corpus = saved(np.concatenate([once, once]), tmp_path)
    queries = corpus[:200]
    options = {"k": 10, "exclude": np.arange(200)}
    expected = neighbors.exact(queries, corpus, **options)
    before = set(client.run(os.getpid).values())
    bar = MagicMock()
    moved = bar.return_value.__enter__.return_value.update

    def kill_at_the_third() -> None:
        if moved.call_count == 3:
            os.kill(min(before), signal.SIGKILL)

    moved.side_effect = kill_at_the_third
    monkeypatch.setattr(distributed.progress, "bar", bar)
    found = distributed.exact(queries, corpus, client=client, shards=40, **options)
    assert moved.call_count == 40
    client.wait_for_workers(2, timeout=30)
    assert set(client.run(os.getpid).values()) != before
    np.testing.assert_array_equal(found.ids, expected.ids)


def test_nan_in_any_shard_is_refused(client, vectors) -> None:
    corpus = vectors.copy()
    corpus[100, 2] = np.nan
    with refused("begins at row 90: corpus: row 10 contains NaN or infinity"):
        distributed.exact(vectors[:1], corpus, 3, client=client, shards=4)


def test_a_file_that_workers_do_not_see_gets_a_sentence(
    client, vectors, tmp_path
) -> None:
    corpus = saved(vectors, tmp_path)
    (tmp_path / "vectors.npy").unlink()
    with refused("workers must see the same files under the same paths"):
        distributed.exact(vectors[:1], corpus, 3, client=client)


# -- what travels ----------------------------------------------------------------------


def test_memory_maps_are_named_and_not_copied(client, tmp_path, rng) -> None:
    vectors = rng.integers(1, 5, size=(9000, 40)).astype(np.float32)
    mapped = saved(vectors, tmp_path)
    rows = distributed.piece(stored(vectors, tmp_path, sp.csr_array), 2000, 9000)
    ends = rows.indptr.nbytes  # where rows end travels
    for part, size in ((mapped, 1000), (mapped[1000:][3:7000], 1000), (rows, ends)):
        sent = pickle.dumps(part)
        assert len(sent) < size + 2000
        np.testing.assert_array_equal(dense(pickle.loads(sent)), dense(part))


# -- encoding --------------------------------------------------------------------------


class Centered(Letters):
    """Has learned something from its text."""

    needs_fit = True
    learned = ("mean",)

    def _fit(self, sentences, show_progress_bar) -> None:
        self.mean = super()._encode(sentences).mean(axis=0)

    def _encode(self, sentences):
        return super()._encode(sentences) - self.mean


class Twin(Letters):
    """One of two embedders whose vectors come out of the same pass."""

    def __init__(self, name: str = "a") -> None:
        super().__init__()
        self.name = name

    @property
    def companions(self) -> list[Twin]:
        return [Twin("b" if self.name == "a" else "a")]

    def encode_with_companions(self, sentences) -> list:
        return [self._encode(sentences), -self._encode(sentences)]


EMBEDDERS = {
    "dense": Letters,
    "sparse": lambda: Letters(sparse=True),
    "companions": Twin,
    "fitted": Centered,
}


@pytest.mark.parametrize("kind", EMBEDDERS)
def test_a_cluster_writes_the_same_bytes_as_one_process(
    client, tmp_path, monkeypatch, kind
) -> None:
    monkeypatch.setattr(store.shards, "SIZE", 8)
    embedder = EMBEDDERS[kind]()
    far = store.EmbeddingStore(tmp_path / "cluster").embed(
        embedder, SENTENCES, client=client
    )
    # Here it encodes only what it is fitted on.
    assert embedder.encoded == (50 if kind == "fitted" else 0)
    here = store.EmbeddingStore(tmp_path / "here").embed(EMBEDDERS[kind](), SENTENCES)
    np.testing.assert_array_equal(dense(far), dense(here))
    assert tree(tmp_path / "cluster") == tree(tmp_path / "here")


# -- clusters --------------------------------------------------------------------------


# SECURITY: "`cluster: local` on 127.0.0.1 with certificates that its own processes
# alone have"
@pytest.mark.parametrize("protocol", ["tcp", "tls"])
def test_a_local_cluster_answers_nobody_else_on_this_machine(client, protocol) -> None:
    """Refused without certificates or with others: ports run what they are sent."""
    from distributed.comm import connect
    from distributed.security import Security

    arguments = {}
    if protocol == "tls":
        arguments = Security.temporary().get_connection_args("client")

    async def greet(address: str) -> None:
        await connect(address, timeout=0.5, **arguments)

    nannies = client.run(lambda dask_worker: dask_worker.nanny)
    addresses = [client.scheduler.address, *client.nthreads(), *nannies.values()]
    turned_away = r"(?i)timed out|certificate|handshake|closed|EOF"
    for address in addresses:
        assert address.startswith("tls://127.0.0.1:")
        # In a thread of its own: the browser tests leave a loop running in this one.
        with ThreadPoolExecutor(1) as pool, pytest.raises(OSError, match=turned_away):
            pool.submit(asyncio.run, greet(address.replace("tls", protocol))).result()
    assert client.submit(sum, [3, 4]).result() == 7


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """The address of a scheduler that somebody has started, with a worker."""
    from distributed import LocalCluster

    options = {
        "host": "127.0.0.1",
        "protocol": "tcp",
        "dashboard_address": None,
        "memory_limit": None,
        "threads_per_worker": 1,
        "processes": False,
    }
    with LocalCluster(n_workers=1, **options) as running:
        yield running.scheduler_address


def test_a_running_scheduler_is_joined_by_its_address_and_left_running(
    scheduler,
) -> None:
    for _ in range(2):
        with cluster.connect(scheduler) as joined:
            assert joined.submit(sum, [1, 2]).result() == 3


# SECURITY: "The default is `none`"
def test_no_notebook_has_a_cluster_of_its_own() -> None:
    for notebook in [*paths.lessons(), *paths.replications()]:
        assert parameters.of_notebook(notebook).get("cluster", "none") == "none"


@pytest.mark.parametrize("address", ["Local", "host:8786", "http://host:80"])
def test_a_malformed_address_gets_a_sentence(address) -> None:
    with refused("is not accepted; give none, local or"), cluster.connect(address):
        pass


def test_a_scheduler_that_cannot_be_joined_gets_a_sentence_with_its_address(
    scheduler, monkeypatch
) -> None:
    """None is there, or one is there that talks without TLS."""
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 0.3)
    for address in ("tcp://127.0.0.1:1", scheduler.replace("tcp", "tls")):
        said = f"no usable Dask scheduler answers at {address}"
        with refused(said), cluster.connect(address):
            pass
