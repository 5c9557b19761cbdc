"""Executing a notebook with papermill, in a kernel of the Python that runs this."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from lib.base import paths
from lib.base.errors import InputError

SOLUTION = "solution"  # the tag of a cell with the solution of an exercise
SOCKET = "socket"  # the first part of the names of a kernel's sockets
# Bytes that the path of a socket may have: 103 on macOS, 107 on Linux.
LONGEST = 103 - len(f"/{SOCKET}-5")
SHORT_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108

# What a kernel executes first: `lib` is that of this checkout, whosever environment it
# runs in, and a user's numpy.py beside it takes no package's place.
FIRST = "; ".join(
    (
        "--IPKernelApp.exec_lines=import sys",
        f"sys.path.insert(0, {str(paths.ROOT)!r})",
        "import lib",
        "sys.path.append(sys.path.pop(0))",
    )
)


def execute(
    notebook: Path,
    output: Path,
    changes: Mapping[str, Any],
    env: Mapping[str, str],
    **options: Any,
) -> None:
    """Execute a notebook into `output`, which has what was executed if it fails.

    Parameters
    ----------
    notebook, output : Path
    changes : mapping
        The parameters that are changed.
    env : mapping
        Variables that the kernel has beside those of this process.
    **options
        Of `subprocess.Popen`, for the kernel.
    """
    import papermill
    from papermill.exceptions import PapermillExecutionError

    failures: list[Exception] = []

    def note(cell: dict, cell_index: int, execute_reply: dict) -> None:
        said = {
            name: execute_reply["content"][name]
            for name in ("ename", "evalue", "traceback")
        }
        failures.append(
            PapermillExecutionError(
                cell_index, cell["execution_count"], cell["source"], **said
            )
        )

    with _folders() as (scratch, sockets):
        variables = {
            "TMPDIR": scratch,
            # A user's start-up files and backend would change the layout of figures.
            "IPYTHONDIR": f"{scratch}/ipython",
            "PYTHONSTARTUP": "",
            "MPLBACKEND": "module://matplotlib_inline.backend_inline",
            # Threads that wait by spinning take the time of the notebook beside this
            # one.
            "OMP_WAIT_POLICY": "PASSIVE",
        }
        options["env"] = os.environ | variables | env
        try:
            papermill.execute_notebook(
                _told(notebook, changes),
                output,
                parameters=changes,
                engine_name=_engine_that_saves_once(),
                kernel_name="python3",
                language="python",
                kernel_manager_class=_kernel_manager(sockets, options),
                progress_bar=False,
                on_cell_error=note,
            )
        except Exception as error:
            if failures:  # saved before it is raised, which a full disk refuses
                raise failures[0] from error
            raise


def _told(notebook: Path, changes: Mapping[str, Any]) -> NotebookNode:
    """A notebook, without solutions if it is changed: they say what comes out."""
    content = nbformat.read(notebook, as_version=4)
    if changes:
        content.cells = [
            cell
            for cell in content.cells
            if SOLUTION not in cell.metadata.get("tags", [])
        ]
    return content


@contextmanager
def _folders() -> Iterator[tuple[str, str]]:
    """A folder for a kernel's temporary files, and one for its sockets.

    They are the same unless its path is too long for a socket; this user alone can open
    them. Sockets cannot lie in the project's folder, whose path may have some hundred
    characters. Raises InputError if there is no place for them.
    """
    with _temporary() as scratch:
        if len(os.fsencode(scratch)) <= LONGEST:
            yield scratch, scratch
            return
        short = [each for each in SHORT_FOLDERS if os.access(each, os.W_OK | os.X_OK)]
        if not short:
            raise InputError(
                f"TMPDIR: {tempfile.gettempdir()} is too long for a kernel's sockets; "
                f"give a folder of at most {LONGEST - 20} characters"
            )
        with _temporary(short[0]) as sockets:
            yield scratch, sockets


def _temporary(folder: str | None = None) -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory(
        prefix="sentence-", dir=folder, ignore_cleanup_errors=True
    )


def _engine_that_saves_once() -> str:
    """The name of an engine that saves the notebook once, however its execution ends.

    papermill's own saves it before and after each cell, which takes seconds in all.
    """
    from papermill.engines import NBClientEngine, papermill_engines
    from papermill.iorw import write_ipynb

    class Engine(NBClientEngine):
        @classmethod
        def execute_notebook(
            cls, nb: dict, kernel_name: str, output_path: str, **options: object
        ) -> dict:
            try:
                return super().execute_notebook(nb, kernel_name, **options)
            finally:
                write_ipynb(nb, output_path)

    papermill_engines.register("saves once", Engine)
    return "saves once"


def _kernel_manager(folder: str, given: dict[str, object]) -> type:
    from jupyter_client import AsyncKernelManager
    from jupyter_client.kernelspec import KernelSpecManager

    class KernelManager(AsyncKernelManager):
        """Talks to the kernel through socket files, not ports.

        Only this user can open them.
        """

        transport = "ipc"

        def _kernel_spec_manager_default(self) -> KernelSpecManager:
            # An installed kernel called python3 may be another environment's.
            return KernelSpecManager(kernel_dirs=[])

        def _ip_default(self) -> str:
            return f"{folder}/{SOCKET}"

        def _connection_file_default(self) -> str:
            return f"{folder}/connection.json"

        async def start_kernel(self, **options: Any) -> None:
            options["extra_arguments"] = [*options.get("extra_arguments", ()), FIRST]
            await super().start_kernel(**options | given)

    return KernelManager
