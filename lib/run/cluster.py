"""Work on several processes or machines, with Dask: starting or joining a cluster, and sending work to it.

A piece of work travels as bytes that lie with the scheduler until it is done, so that another worker can have it
when one dies; scattered data would die with its worker. What is memory-mapped is not copied into these bytes: they
name the file, which every worker must see under the same path.
"""

from __future__ import annotations

import asyncio
import logging
import pickle
import re
import socket
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import lru_cache
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from lib.run import paths
from lib.run.errors import InputError
from lib.run.parameters import shown

if TYPE_CHECKING:
    from distributed import Client, Future

CONNECT_SECONDS = 5.0
RETRIES = 2  # of work that failed, on a network file system say; work whose worker died is done again anyhow
AHEAD = 2  # pieces of work in flight for each thread of the cluster
# Work of any size passes without Dask's advice to leave the data with the workers: see above why it is not.
UNLIMITED = {"distributed.admin.large-graph-warning-threshold": "1 PB"}
# Dask's pages on its state, which a browser could read without certificates.
NO_PAGES = {"distributed.scheduler.http.routes": [], "distributed.worker.http.routes": []}

_log = logging.getLogger(__name__)


# -- clusters -----------------------------------------------------------------------------------


@contextmanager
def connect(cluster: str, processes: int | None = None) -> Iterator[Client | None]:
    """A client of the cluster that a notebook's parameter `cluster` names, for the time of a ``with`` statement.

    Parameters
    ----------
    cluster : "none", for which the client is None; "local", one process for each core of this machine, which talk
        to each other alone; or the address of a running scheduler, such as ``tcp://host:8786``
    processes : int or None, how many a local cluster has instead

    Raises
    ------
    InputError
        An address that is none, a scheduler that cannot be reached, or workers with other versions of the packages.
    """
    check(cluster)
    if cluster == "none":
        yield None
    elif cluster == "local":
        with _local(processes) as client:
            yield client
    else:
        with _joined(cluster) as client:
            yield client


@contextmanager
def _local(processes: int | None) -> Iterator[Client]:
    import dask
    from distributed import Client, LocalCluster

    options = {
        "n_workers": processes,
        "threads_per_worker": 1,
        "host": "127.0.0.1",
        # Certificates of its own, which only these processes have: whoever else is on this machine is refused.
        "security": True,
        "dashboard_address": None,
        "local_directory": paths.CACHE / "dask",
        # Dask counts the pages of mapped files, which the system takes back whenever it likes, and would stop a
        # worker for them.
        "memory_limit": None,
        "silence_logs": logging.CRITICAL,
    }
    with dask.config.set(NO_PAGES):
        running = LocalCluster(**options)
    with running, Client(running, set_as_default=False) as client:
        yield client


@contextmanager
def _joined(address: str) -> Iterator[Client]:
    client = _client(address)
    try:
        _check_versions(client, address)
        if not client.nthreads():
            _log.warning("cluster: %s has no workers yet; work begins when the first one joins", address)
        yield client
    finally:
        client.close()


def _client(address: str) -> Client:
    from distributed import Client

    _check_tls(address)
    try:
        # A Client would wait for an answer without end, or find nobody and leave a thread behind. Asked in a thread,
        # because Jupyter's own has an event loop already.
        with ThreadPoolExecutor(1) as pool:
            pool.submit(asyncio.run, _greet(address)).result()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of other versions, which are refused below
            return Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except Exception as error:  # whatever comes from what is not a scheduler
        reason = str(error) or f"waited {CONNECT_SECONDS:g} s"
        raise InputError(
            f"cluster: no Dask scheduler answers at {address} ({reason}); start one there with `dask scheduler`, or "
            "give none or local"
        ) from error


async def _greet(address: str) -> None:
    from distributed.comm import connect
    from distributed.security import Security

    async with asyncio.timeout(CONNECT_SECONDS):
        comm = await connect(address, CONNECT_SECONDS, **Security().get_connection_args("client"))
        await comm.close()


def _check_tls(address: str) -> None:
    from distributed.security import Security

    try:
        ready = not address.startswith("tls:") or Security().get_connection_args("client")["ssl_context"]
    except OSError as error:
        raise InputError(f"cluster: the TLS certificates for {address} cannot be read ({error})") from error
    if not ready:
        raise InputError(
            f"cluster: {address} needs TLS certificates; name them in Dask's configuration (distributed.comm.tls)"
        )


def check(cluster: str) -> None:
    """Raise InputError unless it is "none", "local" or looks like a scheduler's address."""
    address = r"(tcp|tls)://([^\s:/\[\]]+|\[[0-9a-fA-F:.]+\]):\d{1,5}"
    if cluster not in ("none", "local") and not re.fullmatch(address, str(cluster)):
        raise InputError(
            f"cluster: {shown(cluster)} is not accepted; give none, local or a scheduler's address such as tcp://host:8786"
        )


def _check_versions(client: Client, address: str) -> None:
    """Raise InputError unless scheduler and workers have this process's packages: results would depend on luck."""
    versions = client.get_versions(packages=["scipy", "torch", "sentence-embedding-studies"])
    here = versions["client"]["packages"]
    for place, there in {address: versions["scheduler"], **versions["workers"]}.items():
        for package, version in here.items():
            other = there["packages"].get(package)
            if other != version:
                raise InputError(
                    f"cluster: {package} is {version or 'missing'} here and {other or 'missing'} at {place}; start "
                    "the scheduler and the workers in this environment"
                )


# -- work ---------------------------------------------------------------------------------------


def in_order(function: Callable, shared: Any, items: Iterable[Any], client: Client | None) -> Iterator[Any]:
    """``function(shared, item)`` for one item after the other, computed here or, given a client, on its workers.

    `shared` travels once. Only a few items are in flight at a time, so that neither they nor the results pile up.
    """
    if client is None:
        for item in items:
            yield function(shared, item)
        return
    held = share(client, shared)
    waiting: deque[Future] = deque()
    try:
        for item in items:
            waiting.append(submit(client, function, held, item))
            if len(waiting) >= AHEAD * threads(client):
                yield result(waiting.popleft())
        while waiting:
            yield result(waiting.popleft())
    finally:
        client.cancel(list(waiting))


def share(client: Client, value: Any) -> Future:
    """Something that many pieces of work need, at every worker."""
    import dask

    with dask.config.set(UNLIMITED):
        held = client.submit(_same, pack(value), pure=False)
    # Without copies work crowds on the worker that has it. One that dies meanwhile breaks the copying off: no harm.
    with suppress(ValueError, AssertionError):
        client.replicate(held)
    return held


def submit(client: Client, function: Callable, held: Future, item: Any) -> Future:
    """Have a worker compute ``function(shared, item)``; `function` must be importable there."""
    import dask

    with dask.config.set(UNLIMITED):
        return client.submit(_call, function, held, pack(item), pure=False, retries=RETRIES)


def combine(client: Client, function: Callable, pieces: Iterable[Future], done: Callable[[], Any]) -> Any:
    """The results of `pieces` put together by ``function(left, right)``, each two in their order, up a tree.

    `done` is called when a piece has its result. Results stay with the workers, and only until they are combined.
    """
    from distributed import as_completed

    waiting = list(pieces)
    root = _tree(client, function, waiting)
    pending = as_completed(waiting, loop=client.loop)
    del waiting
    try:
        for piece in pending:
            if piece.status != "finished":
                result(piece)
            done()
        return result(root)
    except BaseException:
        client.cancel([root, *pending.futures])
        raise


def _tree(client: Client, function: Callable, level: list[Future]) -> Future:
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=False)
        # Before work that waits: what is combined frees memory.
        combined = [client.submit(function, *pair, pure=False, priority=1, retries=RETRIES) for pair in pairs]
        level = combined + level[2 * len(combined) :]
    return level[0]


def result(future: Future) -> Any:
    """What a piece of work has returned; InputError when the cluster, not the work, has failed."""
    from distributed import CancelledError, KilledWorker

    try:
        return future.result()
    except KilledWorker as error:
        raise InputError(
            "cluster: one worker after the other died over the same piece of work; give them more memory"
        ) from error
    except CancelledError as error:
        raise InputError("cluster: the connection to its scheduler was lost; run again when it is back") from error


def threads(client: Client) -> int:
    """How many pieces of work the cluster does at a time; 1 while it has no workers."""
    return max(1, sum(client.nthreads().values()))


def _same(value: bytes) -> bytes:
    return value


def _call(function: Callable, shared: bytes, item: bytes) -> Any:
    return function(_unpacked(shared), unpack(item))


# -- what travels -------------------------------------------------------------------------------


def pack(value: Any) -> bytes:
    """A value as bytes for `unpack`, in which pieces of read-only memory-maps are named, not copied.

    Raises InputError for what cannot be packed, an open file or a lock say.
    """
    stream = BytesIO()
    try:
        _packer()(stream, protocol=pickle.HIGHEST_PROTOCOL).dump(value)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        name = getattr(value, "name", type(value).__name__)
        raise InputError(f"{name}: cannot be sent to a cluster's workers ({error}); use cluster: none") from error
    return stream.getvalue()


def unpack(data: bytes) -> Any:
    """What `pack` was given. Never for bytes from elsewhere: unpacking runs what they say."""
    return pickle.loads(data)


# A worker keeps the embedder that it has unpacked, for the next shard.
_unpacked = lru_cache(maxsize=1)(unpack)


@lru_cache(maxsize=1)
def _packer() -> type:
    import cloudpickle

    class Packer(cloudpickle.Pickler):
        def reducer_override(self, value: Any) -> Any:
            place = _place(value) if isinstance(value, np.ndarray) else None
            return (_mapped, place) if place else super().reducer_override(value)

    return Packer


def _place(array: np.ndarray) -> tuple[str, np.dtype, int, tuple[int, ...]] | None:
    """File, type, offset in bytes and shape of a whole piece of a read-only memory-map; None for any other array."""
    root = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    mapped = isinstance(root, np.memmap) and root.mode == "r" and root.filename is not None
    if not mapped or not array.flags.c_contiguous or not array.size:
        return None
    return str(root.filename), array.dtype, root.offset + array.ctypes.data - root.ctypes.data, array.shape


def _mapped(file: str, dtype: np.dtype, offset: int, shape: tuple[int, ...]) -> np.memmap:
    try:
        return np.memmap(file, dtype, "r", offset, shape)
    except (OSError, ValueError) as error:
        raise InputError(
            f"{file}: the worker on {socket.gethostname()} cannot read it ({error}); workers must see the same files "
            "under the same paths as this process"
        ) from error
