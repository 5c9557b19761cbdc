"""Work in several processes of this machine, or with Dask on a cluster.

Connecting to the cluster, and sending work to it. What is memory-mapped does not
travel: a worker gets the name of the file, which it must see under the same path.
"""

from __future__ import annotations

import copyreg
import logging
import os
import re
import socket
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import lru_cache
from itertools import starmap
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np
from joblib import cpu_count
from joblib.externals.loky import (
    BrokenProcessPool,
    get_reusable_executor,
    process_executor,
)

from lib.base import paths
from lib.base.errors import InputError

if TYPE_CHECKING:
    from distributed import Client, Future, LocalCluster

CONNECT_SECONDS = 5
# Of work that failed, on a network file system, say; work whose worker died is always
# done again.
RETRIES = 2
# How many threads libraries start in each of several processes.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
AHEAD = 2  # pieces of work in flight for each process, or thread of the cluster
# Their versions must agree, as must those of the packages on Dask's own list.
PACKAGES = ["scipy", "torch", "sentence-embedding-studies"]


@contextmanager
def connect(cluster: str, processes: int | None = None) -> Iterator[Client | None]:
    """A client of the cluster that a notebook's parameter `cluster` names.

    It is open for the duration of a ``with`` statement.

    Parameters
    ----------
    cluster : str
        "none", for which the client is None; "local", one process for each core of this
        machine, which talk to each other alone; or the address of a running scheduler,
        such as ``tcp://host:8786``.
    processes : int, optional
        Of a local cluster; by default one for each core.

    Raises
    ------
    InputError
        A malformed address, a scheduler that cannot be reached, or workers with other
        versions of the packages.
    """
    if cluster == "none":
        yield None
        return
    if cluster != "local" and not re.fullmatch(r"(tcp|tls)://\S+:\d+", str(cluster)):
        raise InputError(
            f"cluster: {cluster!r} is not accepted; give none, local or a scheduler's "
            "address such as tcp://host:8786"
        )
    import dask
    from distributed import Client

    copyreg.pickle(np.memmap, by_name)
    # What is sent stays with the scheduler until it is done, so that another worker can
    # have it when one dies.
    dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 PB"})
    with _local(processes) if cluster == "local" else nullcontext(cluster) as scheduler:
        try:
            if scheduler == cluster:
                # A client that cannot connect stays half open, and Dask may hang on it
                # later, so the port is tried first.
                place = urlsplit(cluster)
                socket.create_connection(
                    (place.hostname, place.port), CONNECT_SECONDS
                ).close()
            client = Client(scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
            try:
                # Dask only warns about other versions.
                with warnings.catch_warnings(action="error", category=UserWarning):
                    client.get_versions(check=True, packages=PACKAGES)
            except UserWarning:
                client.close()
                raise
        except (OSError, TypeError, ValueError, UserWarning) as error:
            raise InputError(
                f"cluster: no usable Dask scheduler answers at {cluster} "
                f"({error}); start one with `dask scheduler`, and its workers, in this "
                "environment, or give none or local"
            ) from error
        with client:
            yield client


def _local(processes: int | None) -> LocalCluster:
    from distributed import LocalCluster, Security

    return LocalCluster(
        n_workers=processes,
        threads_per_worker=1,
        host="127.0.0.1",
        security=Security.temporary(),  # certificates that only these processes have
        dashboard_address=None,
        local_directory=paths.CACHE / "dask",
        # Dask counts the pages of mapped files, and would stop a worker for them.
        memory_limit=None,
        silence_logs=logging.CRITICAL,
    )


# -- work ------------------------------------------------------------------------------


def in_order(
    function: Callable, shared: Any, items: Iterable[Any], client: Client | None
) -> Iterator[Any]:
    """Yield ``function(shared, item)`` for each item in turn.

    It is computed here or, given a client, on its workers. `shared` travels once. Only
    a few items are in flight at a time, so that neither they nor the results pile up.
    """
    if client is None:
        for item in items:
            yield function(shared, item)
        return
    common = share(client, shared)
    waiting: deque[Future] = deque()
    try:
        for item in items:
            waiting.append(submit(client, function, common, item))
            if len(waiting) >= AHEAD * threads(client):
                yield result(waiting.popleft())
        while waiting:
            yield result(waiting.popleft())
    finally:
        client.cancel(list(waiting))


def share(client: Client, value: Any) -> Future:
    """Something that many pieces of work need, at every worker."""
    common = client.submit(bytes, _packed(value), pure=False)
    # Without copies, all work would go to the worker that has the value. If a worker
    # dies meanwhile, the copying stops, which does no harm.
    with suppress(ValueError, AssertionError):
        client.replicate(common)
    return common


def submit(client: Client, function: Callable, common: Future, item: Any) -> Future:
    """Have a worker compute ``function(shared, item)``.

    `function` must be importable there.
    """
    return client.submit(
        _call, function, common, _packed(item), pure=False, retries=RETRIES
    )


def _packed(value: Any) -> bytes:
    """The pickled bytes of a value, to be sent.

    The scheduler, which keeps it until the work is done, does not unpack it.
    """
    from distributed.protocol.pickle import dumps

    try:
        return dumps(value)
    except (AttributeError, TypeError) as error:
        raise InputError(
            f"cluster: {error}, so it cannot be sent to a worker; use cluster: none"
        ) from error


# A worker keeps the embedder that it has unpacked, for the next shard.
@lru_cache(maxsize=1)
def _unpacked(data: bytes) -> Any:
    from distributed.protocol.pickle import loads

    return loads(data)


def _call(function: Callable, shared: bytes, item: bytes) -> Any:
    return function(_unpacked(shared), _unpacked.__wrapped__(item))


def result(future: Future) -> Any:
    """What a piece of work has returned.

    Raises InputError when the cluster, not the work, has failed.
    """
    from distributed import CancelledError, KilledWorker

    try:
        return future.result()
    except (CancelledError, KilledWorker) as error:
        raise InputError(
            f"cluster: its work was lost ({error}); give its workers more "
            "memory, or run again when it is back"
        ) from error


def threads(client: Client) -> int:
    """How many pieces of work the cluster does at a time; 1 while it has no workers."""
    return max(1, sum(client.nthreads().values()))


# -- memory-maps -----------------------------------------------------------------------


def by_name(array: np.memmap) -> Any:
    """How a memory-map is pickled: by the name of its file, or else as an array.

    By name if it is read-only and contiguous.
    """
    root: Any = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    if (
        getattr(root, "mode", None) != "r"
        or not array.flags.c_contiguous
        or not array.size
    ):
        return np.array(array).__reduce__()
    offset = root.offset + array.ctypes.data - root.ctypes.data
    return _mapped, (str(root.filename), array.dtype, offset, array.shape)


def _mapped(
    file: str, dtype: np.dtype, offset: int, shape: tuple[int, ...]
) -> np.memmap:
    try:
        return np.memmap(file, dtype, "r", offset, shape)
    except (OSError, ValueError) as error:
        raise InputError(
            f"{file}: the worker on {socket.gethostname()} cannot read it ({error}); "
            "workers must see the same files "
            "under the same paths as this process"
        ) from error


# -- processes of this machine ---------------------------------------------------------


def in_processes(
    function: Callable, inputs: Iterable[tuple], workers: int = 0
) -> Iterator[Any]:
    """Compute a function of each tuple of arguments in several processes, in order.

    `joblib.Parallel` would prepare the inputs, for which embedders encode, in a thread
    of its own.

    Parameters
    ----------
    function : callable
        What it raises is raised here.
    inputs : iterable of tuple
        Taken only a few ahead of what is done.
    workers : int
        Number of processes; 0 for one a core. Results do not depend on it.

    Raises
    ------
    InputError
        A process was killed.
    """
    workers = workers or cpu_count()
    if workers == 1:
        yield from starmap(function, inputs)
        return
    pool = get_reusable_executor(
        workers, timeout=None, initializer=_begin, env=dict.fromkeys(THREADS, "1")
    )
    pending: deque[Any] = deque()
    try:
        for arguments in inputs:
            pending.append(pool.submit(function, *arguments))
            if len(pending) == AHEAD * workers:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    except BrokenProcessPool as error:
        raise InputError(
            "workers: a process was killed, most likely for lack of "
            "memory; use fewer, or free some memory"
        ) from error
    except BaseException:
        # Even after an interrupt, nobody waits for what is still being computed.
        # Without this line, Loky prints an error about work that its shutdown removed.
        pool._work_ids.queue.clear()
        pool.shutdown(wait=False, kill_workers=True)
        raise


def _begin() -> None:
    """Let this process end when its parent was killed, and only then.

    Otherwise Loky would also end it, with a warning, once it has grown by 300 MB since
    its first piece of work, as it does when the second one imports a large package.
    """
    process_executor._MAX_MEMORY_LEAK_SIZE = float("inf")
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
