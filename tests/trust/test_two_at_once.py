"""Two runs of one thing at the same time: one does the work, the other waits, says so, and uses what is there.

Each test starts processes that are forked from one which has imported what they need. The first is held up in the
middle of its work until the second has said that it waits; then it goes on, or is killed.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import numpy as np
import pytest

from lib import corpora, fitted, store
from lib.catalog import asset, download
from lib.embedders import trained
from lib.embedders.base import Embedder
from lib.embedders.word_vectors import cache as vectors
from lib.run import cache, compiled, files, locks, paths
from lib.run import runner as run
from lib.run.errors import InputError
from lib.sent2vec import settings, training
from lib.sent2vec.model import Sent2Vec
from tests.copies import copy_project
from tests.sizes import KILLS, NIGHTLY
from tools import bootstrap

LIMIT = 1200 if NIGHTLY else 120  # seconds after which processes that wait for each other are called a deadlock
SENTENCES = [f"sentence number {i} of many more" for i in range(40)]
SMALL = settings.Settings(dim=4, epochs=2, min_count=1, bucket=50, threads=1)

processes = get_context("forkserver")
processes.set_forkserver_preload([__name__])


# -- what is done by two ------------------------------------------------------------------------


def work_on(folder: Path) -> None:
    """What takes long: noted, and held up until the test lets it go on."""
    with (folder / "worked").open("a") as stream:
        stream.write("once\n")
    (folder / "busy").touch()
    wait_for(folder / "go")


def wait_for(file: Path, text: str = "") -> None:
    """Wait until a file is there, with this text in it."""
    until = time.monotonic() + LIMIT
    while not file.exists() or text not in file.read_text():
        assert time.monotonic() < until, f"waited in vain for {file.name} {text}"
        time.sleep(0.01)


class Letters(Embedder):
    """Letter counts; works at the first shard, or when it is fitted."""

    version = 1
    settings: dict = {}  # noqa: RUF012 - an interface of Embedder

    def __init__(self, folder: Path, name: str = "a", others: str = "", needs_fit: bool = False) -> None:
        self.folder, self.name, self.others, self.needs_fit = folder, name, others, needs_fit

    @property
    def companions(self) -> list[Letters]:
        return [Letters(self.folder, other) for other in self.others]

    def _fit(self, sentences, show_progress_bar=False) -> None:
        work_on(self.folder)

    def _state(self) -> dict:
        return {"letters": np.arange(26)}

    def _encode(self, sentences):
        return self._encode_together(sentences)[0]

    def _encode_together(self, sentences) -> list:
        work_on(self.folder)
        counts = np.array([[s.count(chr(97 + j)) for j in range(26)] for s in sentences], np.float32)
        return [counts * ord(name) for name in self.name + self.others]


def embed(folder: Path) -> bytes:
    return store.EmbeddingStore(folder / "store").embed(Letters(folder), SENTENCES).tobytes()


def embed_with_companions(folder: Path) -> bytes:
    return store.EmbeddingStore(folder / "store").embed(Letters(folder, "a", "bc"), SENTENCES).tobytes()


def fit(folder: Path) -> bytes:
    return fitted.fit(Letters(folder, needs_fit=True), SENTENCES).state()["letters"].tobytes()


def train_word_vectors(folder: Path) -> bytes:
    def written(model, file: Path) -> None:
        file.write_bytes(b"2 2\na " + np.ones(2, np.float32).tobytes() + b"\nb " + np.ones(2, np.float32).tobytes())

    toy = SimpleNamespace(wv="ab", build_vocab=lambda tokens: None, train=lambda *given, **named: work_on(folder))
    sys.modules["gensim"] = sys.modules["gensim.models"] = gensim = SimpleNamespace(Word2Vec=lambda **options: toy)
    gensim.models, trained.epoch_counter, trained._save = gensim, lambda bar: None, written
    return trained.Training("toy", tokenize=str.split).train(SENTENCES)["a"].tobytes()


def convert_word_vectors(folder: Path) -> bytes:
    text = folder / "vectors.txt"
    if not text.exists():
        with files.replacing(text) as stream:
            stream.write(b"".join(b"word%d 1 2 %d\n" % (i, i) for i in range(50)))
        os.utime(text, (0, 0))
    convert = vectors._convert
    vectors._convert = lambda *given: (work_on(folder), convert(*given))[1]
    return vectors.open_entry(text).matrix.tobytes()


def segment(folder: Path) -> bytes:
    text = folder / "text.txt"
    if not text.exists():
        text.write_text("One sentence. Another sentence here.\n" * 3)
        os.utime(text, (0, 0))
    corpora.LONG_WORK, corpora.cache.FOLDER = 0, folder / "corpora"
    corpora.segmentation.version = lambda segmenter: "1"
    corpora.segmentation.segment = lambda passages, *given: work_on(folder) or [(p.opens, [p.text]) for p in passages]
    return "\n".join(corpora.load(f"text:{text}").sentences).encode()


def train_sent2vec(folder: Path) -> bytes:
    learn = training._Training._learn

    def slowly(self, rooms, job):
        if not job.number:
            work_on(folder)
        return learn(self, rooms, job)

    training._Training._learn = slowly
    made = training.train(SENTENCES, SMALL, folder / "model.checkpoint", seconds_between_checkpoints=0)
    assert not list(folder.glob(".*checkpoint*"))
    return made.input_matrix.tobytes()


def fetch(folder: Path) -> bytes:
    """From a server that holds each answer up: the number of its answers is that of the works."""
    url = (folder / "address").read_text()
    download.download(wanted(url))
    return (paths.DATA / "toy" / "text").read_bytes() + download._recorded()[url].encode()


def wanted(url: str) -> asset.Asset:
    return asset.Asset(
        id="toy", title="A toy", kind="corpus", license="MIT", citation="toy", page="https://example.org",
        access="free", used_by=["n2o"], files=[{"path": "toy/text"}],
        downloads=[{"url": url, "format": "text", "to": "toy/text"}],
    )  # fmt: skip


def execute(folder: Path) -> bytes:
    def papermill(job, output, held) -> None:
        work_on(folder)
        output.write_text("executed")

    run._papermill, run.Job.digest = papermill, "the same"
    paths.FIGURES, paths.RUNS = folder / "figures", folder / "runs"
    job = run.Job(paths.NOTEBOOKS / "00_start_here.ipynb", "smoke", {})
    outcome = run.run(job)
    assert outcome.status != "failed", outcome.reason
    return (job.results / "00_start_here.ipynb").read_bytes()


def build(folder: Path) -> bytes:
    """The environment, with something else in pip's place."""
    bootstrap.ROOT, bootstrap.CACHE, bootstrap.VENV = folder, str(folder / "cache"), str(folder / "venv")
    bootstrap.COMPLETE, bootstrap.MADE_FROM, bootstrap.GIGABYTES = str(folder / "venv" / "complete"), (), 0

    def built(place, requirements) -> None:
        (folder / "venv").mkdir(exist_ok=True)
        work_on(folder)

    bootstrap.build = built
    sys.argv = ["bootstrap"]
    assert bootstrap.main() == 0
    return b"built"


WORKS = {
    "embed": (embed, "waiting for another run that is encoding a"),
    "companions": (embed_with_companions, "waiting for another run that is encoding a"),
    "fit": (fit, "waiting for another run that is fitting a"),
    "train word vectors": (train_word_vectors, "waiting for another run that is training toy"),
    "convert word vectors": (convert_word_vectors, "waiting for another run that is converting vectors.txt"),
    "segment": (segment, "waiting for another run that is segmenting text:"),
    "train Sent2Vec": (train_sent2vec, "waiting for another run that is training with"),
    "fetch": (fetch, "waiting for another run that is fetching toy"),
    "execute": (execute, "waiting for another run that is executing 00_start_here"),
    "build": (build, "waiting for another make that is building the environment"),
}


# -- the processes ------------------------------------------------------------------------------


def child(folder: Path, function: Callable[[Path], bytes], answer: str) -> None:
    """In a process of its own: work below a folder, with what it says and what it gets in files."""
    sys.stdout = sys.stderr = (folder / f"{answer}.said").open("w", buffering=1)
    os.environ.pop(paths.LOG_VARIABLE, None)
    paths.CACHE, paths.DATA = folder / "cache", folder / "data"
    locks.SECONDS, store.SHARD = 0.1, 1000
    with files.replacing(folder / answer) as stream:
        stream.write(function(folder))


def start(folder: Path, function: Callable[[Path], bytes], answer: str) -> SimpleNamespace:
    process = processes.Process(target=child, args=(folder, function, answer), daemon=True)
    process.start()
    return SimpleNamespace(process=process, answer=folder / answer, said=folder / f"{answer}.said")


def end(started: SimpleNamespace) -> bytes:
    """What a process has got, when it has ended."""
    started.process.join(LIMIT)
    status = started.process.exitcode
    if status is None:
        started.process.kill()
    assert status == 0, f"{'a deadlock' if status is None else status}: {started.said.read_text()}"
    return started.answer.read_bytes()


@pytest.fixture
def room(tmp_path):
    """A function that makes an empty folder to work below; fetching finds its server there."""
    servers = []

    def make(name: str) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        servers.append(Server(folder))
        return folder

    yield make
    for server in servers:
        server.shutdown()
        server.server_close()


class Server(ThreadingHTTPServer):
    """Gives a text, each time after `work_on`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.folder = folder
        (folder / "address").write_text(f"http://127.0.0.1:{self.server_port}/text")
        Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def handle_error(self, *given) -> None:
        """Who asked may have been killed."""


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        work_on(self.server.folder)
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"a text"[:5])

    def log_message(self, *given) -> None:
        """Quiet."""


def alone(folder: Path, function: Callable[[Path], bytes]) -> bytes:
    (folder / "go").touch()
    return end(start(folder, function, "alone"))


def kept(folder: Path) -> dict[str, bytes]:
    """Every file of results below a folder: what lies there when one works alone must lie there after two."""
    places = [folder / name for name in ("store", "cache", "corpora", "data", "figures", "venv")]
    found = [file for place in places for file in sorted(place.rglob("*")) if file.is_file()]
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in found
        if file.suffix != ".lock" and file.name not in ("fetched.json", paths.COST, "about.json")
    }


# -- the promises -------------------------------------------------------------------------------


def one_works_and_one_waits(room, what: str) -> tuple:
    """What one gives alone and where, and then a folder with one that is at work and one that waits and has said so."""
    function, says = WORKS[what]
    expected = alone(apart := room("alone"), function)
    folder = room("two")
    first = start(folder, function, "first")
    wait_for(folder / "busy")
    second = start(folder, function, "second")
    wait_for(second.said, says)
    return expected, apart, folder, first, second


@pytest.mark.parametrize("what", list(WORKS))
def test_one_works_and_the_other_waits_says_so_and_uses_it(room, what) -> None:
    expected, apart, folder, first, second = one_works_and_one_waits(room, what)
    (folder / "go").touch()
    assert end(first) == end(second) == expected
    assert (folder / "worked").read_text() == "once\n"
    assert "waiting" not in first.said.read_text()
    assert list(kept(folder).values()) == list(kept(apart).values())


@pytest.mark.parametrize("what", list(WORKS))
def test_where_the_one_that_works_is_killed_the_other_goes_on(room, what) -> None:
    expected, apart, folder, first, second = one_works_and_one_waits(room, what)
    first.process.kill()
    (folder / "go").touch()
    assert end(second) == expected
    assert list(kept(folder).values()) == list(kept(apart).values())


def test_two_threads_of_one_process_encode_once(room) -> None:
    folder = room("threads")
    (folder / "go").touch()
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(embed, [folder, folder])
    assert first == second
    assert (folder / "worked").read_text() == "once\n"


def test_who_waits_while_the_folder_is_deleted_goes_on_in_a_new_one(tmp_path) -> None:
    path = tmp_path / "cache" / "entry.lock"
    with ThreadPoolExecutor(1) as pool:
        with locks.held(path, "at work"):
            waiting = pool.submit(locks.held, path, "at work")
            time.sleep(0.1)
            shutil.rmtree(path.parent)
            lock = waiting.result(LIMIT)
        with lock:
            assert path.exists()


def test_what_can_do_without_a_lock_goes_on_where_none_can_be_made(tmp_path, monkeypatch) -> None:
    def refuse(*given, **named):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(locks.FileLock, "acquire", refuse)
    with locks.held_if_possible(tmp_path / "lock", "at work"):
        pass
    with locks.held_beside(tmp_path / "file", "at work"):
        pass
    with pytest.raises(PermissionError):
        locks.held(tmp_path / "lock", "at work")


# -- a store ------------------------------------------------------------------------------------


def embed_in_pieces(folder: Path, name: str, others: str) -> bytes:
    store.SHARD = 3
    return store.EmbeddingStore(folder / "store").embed(Letters(folder, name, others), SENTENCES).tobytes()


OVERLAPPING = {
    name: partial(embed_in_pieces, name=name, others=others)
    for name, others in zip("abcd", ("b", "c", "a", "abc"), strict=True)
}


def test_embedders_with_some_companions_in_common_neither_mix_nor_wait_for_each_other(room) -> None:
    apart = room("apart")
    expected = {name: alone(apart, function) for name, function in OVERLAPPING.items()}
    for number in range(KILLS):
        folder = room(str(number))
        (folder / "go").touch()
        running = [start(folder, function, name) for name, function in OVERLAPPING.items()]
        assert {each.answer.name: end(each) for each in running} == expected
        assert kept(folder) == kept(apart)


# -- files --------------------------------------------------------------------------------------


def record(folder: Path, answer: str) -> bytes:
    for i in range(20):
        download._record(f"https://example.org/{answer}/{i}", answer)
    return b""


def test_two_that_record_downloads_lose_none(room) -> None:
    folder = room("records")
    for running in [start(folder, partial(record, answer=answer), answer) for answer in ("first", "second")]:
        end(running)
    recorded = json.loads((folder / "data" / "fetched.json").read_text())
    assert recorded == {f"https://example.org/{name}/{i}": name for name in ("first", "second") for i in range(20)}


def save(folder: Path) -> bytes:
    model = Sent2Vec.train(SENTENCES, SMALL)
    for _ in range(20):
        model.save(folder / "model.bin")
    return (folder / "model.bin").read_bytes()


def load(folder: Path) -> bytes:
    while not (folder / "model.bin").exists():
        time.sleep(0.01)
    return b"".join(Sent2Vec.load(folder / "model.bin").encode(["sentence"]).tobytes() for _ in range(20))


def test_two_that_save_to_one_path_leave_a_whole_model_at_every_moment(room) -> None:
    folder = room("models")
    saving = [start(folder, save, answer) for answer in ("first", "second")]
    read = end(start(folder, load, "third"))
    expected = alone(room("alone"), save)
    assert [end(each) for each in saving] == [expected, expected]
    assert read == 20 * read[: 4 * SMALL.dim]
    assert not list(folder.glob(".model.bin*"))


# -- deleting -----------------------------------------------------------------------------------


def test_what_a_run_is_writing_is_not_deleted_and_the_run_is_not_disturbed(room) -> None:
    expected, folder = alone(room("alone"), embed), room("pruned")
    running = start(folder, embed, "running")
    wait_for(folder / "busy")
    with pytest.raises(InputError, match=r"store: a run is at work there \(.*lock\); wait until it ends, or stop it"):
        cache.delete(folder / "store")
    (folder / "go").touch()
    assert end(running) == expected
    assert cache.delete(folder / "store") >= len(expected)
    assert not (folder / "store").exists()


def embed_again_and_again(folder: Path) -> bytes:
    expected = Letters(folder)._encode(SENTENCES).tobytes()
    for _ in range(25 * KILLS):
        with suppress(InputError):  # what it was writing has been deleted
            assert embed_in_pieces(folder, "a", "b") == expected
    return b"right"


def delete_again_and_again(folder: Path) -> bytes:
    for _ in range(50 * KILLS):
        with suppress(InputError):  # a run is at work
            cache.delete(folder / "store")
        time.sleep(random.Random(0).random() / 100)
    return b"deleted"


def test_deleting_at_any_moment_gives_no_wrong_vectors_and_no_traceback(room) -> None:
    folder = room("both")
    (folder / "go").touch()
    embedding, deleting = embed_again_and_again, delete_again_and_again
    work = {"a": embedding, "b": embedding, "c": deleting, "d": deleting}
    running = [start(folder, function, answer) for answer, function in work.items()]
    assert [end(each) for each in running] == [b"right", b"right", b"deleted", b"deleted"]


def test_make_clean_beside_a_run_says_so(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(bootstrap, "CACHE", str(tmp_path))
    with locks.held(tmp_path / "runs" / "00.lock", "at work"), pytest.raises(SystemExit, match="a run is at work"):
        bootstrap.clean()


# -- the environment ----------------------------------------------------------------------------


def test_an_environment_older_than_what_it_is_made_from_is_built_again(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(bootstrap, "ROOT", str(tmp_path))
    monkeypatch.setattr(bootstrap, "MADE_FROM", ("requirements.txt",))
    monkeypatch.setattr(bootstrap, "COMPLETE", str(tmp_path / "complete"))
    (tmp_path / "requirements.txt").touch()
    assert not bootstrap.is_complete()
    (tmp_path / "complete").touch()
    assert bootstrap.is_complete()
    os.utime(tmp_path / "complete", (0, 0))
    assert not bootstrap.is_complete()


def test_the_makefile_and_the_builder_agree_on_what_the_environment_is_made_from() -> None:
    makefile = (paths.ROOT / "Makefile").read_text()
    assert re.search(r"^\$\(READY\): (.*)$", makefile, re.M)[1].split() == list(bootstrap.MADE_FROM)


def install(folder: Path) -> bytes:
    bootstrap.CACHE, bootstrap.ROOT = str(folder / "cache"), str(folder)
    with bootstrap.alone():
        bootstrap.run(["sh", "-c", "touch busy; until test -e go; do sleep 0.05; done; echo done >> installed"])
    return b""


def test_pip_that_goes_on_without_its_killed_make_is_waited_for(room) -> None:
    folder = room("orphan")
    first = start(folder, install, "first")
    wait_for(folder / "busy")
    first.process.kill()
    second = start(folder, install, "second")
    wait_for(second.said, "waiting for another make")
    assert not (folder / "installed").exists()
    (folder / "go").touch()
    end(second)
    assert (folder / "installed").read_text() == "done\ndone\n"


# -- compiled loops -----------------------------------------------------------------------------


def test_code_compiled_for_two_kinds_at_the_same_time_is_not_exchanged(tmp_path, monkeypatch) -> None:
    """Numba's own files would give the second of two the code of the first, and so wrong numbers."""
    files_of_each = [compiled._Files(tmp_path, "loop", []) for _ in range(2)]
    dumps = compiled.serialize.dumps

    def meanwhile(value) -> bytes:
        monkeypatch.undo()
        files_of_each[1].save("for float64", "the code for float64")
        return dumps(value)

    monkeypatch.setattr(compiled.serialize, "dumps", meanwhile)
    files_of_each[0].save("for float32", "the code for float32")
    for kind in ("float32", "float64"):
        assert compiled._Files(tmp_path, "loop", []).load(f"for {kind}") == f"the code for {kind}"


LOOPS = {
    "inner": "from lib.run.compiled import njit\n@njit\ndef twice(x):\n    return {factor} * x\n",
    "outer": (
        "from inner import twice\nfrom lib.run.compiled import njit\n"
        "@njit\ndef total(x):\n    s = x[0] * 0\n    for i in range(len(x)):\n        s += twice(x[i])\n    return s\n"
    ),
}


def total(folder: Path, kind: str) -> bytes:
    compiled.HOME = str(folder)
    sys.path.insert(0, str(folder))
    sys.dont_write_bytecode = True
    loop = import_module("outer").total

    result = loop(np.ones(5, kind))
    return f"{result:g} {sum(loop.stats.cache_hits.values())}".encode()


def loops(folder: Path, factor: int) -> None:
    for name, source in LOOPS.items():
        (folder / f"{name}.py").write_text(source.format(factor=factor))


def test_processes_that_compile_at_the_same_time_compute_the_right_numbers(room) -> None:
    kinds = ("float32", "float64")
    for number in range(KILLS):
        folder = room(str(number))
        loops(folder, 2)
        for found in (b"10 0", b"10 1"):
            running = [start(folder, partial(total, kind=kind), kind) for kind in kinds]
            assert [end(each) for each in running] == [found, found]


def test_code_is_compiled_anew_when_another_module_of_it_changes_or_it_is_damaged(room) -> None:
    folder = room("loops")
    for factor in (2, 3):
        loops(folder, factor)
        found = [end(start(folder, partial(total, kind="int64"), str(i))) for i in range(2)]
        assert found == [b"%d 0" % (5 * factor), b"%d 1" % (5 * factor)]
    (kept_code,) = folder.glob("__pycache__/outer.total-*.nbc")
    content = bytearray(kept_code.read_bytes())
    content[len(content) // 2] ^= 1
    kept_code.write_bytes(content)
    assert end(start(folder, partial(total, kind="int64"), "damaged")) == b"15 0"


# -- notebooks ----------------------------------------------------------------------------------


SOURCES = [
    "x = 1",
    "import time; from lib.run import paths; time.sleep(5)",
    "(paths.figures_folder('00_tiny') / 'x.csv').write_text(str(x))",
]


def put_notebook(project: Path) -> None:
    """One that takes some seconds, in the place of all others."""
    blank = {"cell_type": "code", "metadata": {"tags": ["parameters"]}, "execution_count": None, "outputs": []}
    cells = [blank | {"id": str(number), "source": source} for number, source in enumerate(SOURCES)]
    for cell in cells[1:]:
        cell["metadata"] = {}
    metadata = {"kernelspec": {"name": "python3", "language": "python", "display_name": "Python 3"}}
    content = {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": cells}
    shutil.rmtree(project / "notebooks")
    (project / "notebooks").mkdir()
    (project / "notebooks" / "00_tiny.ipynb").write_text(json.dumps(content))


def test_two_make_figures_in_one_checkout_execute_a_notebook_once(tmp_path) -> None:
    environment = copy_project(tmp_path)
    put_notebook(tmp_path)
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    command = [sys.executable, "-m", "lib.run"]
    running = [subprocess.Popen(command, cwd=tmp_path, env=environment, **options) for _ in range(2)]
    said = [process.communicate(timeout=LIMIT)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0], said
    assert sorted(re.findall(r"^00_tiny  (done|unchanged)", "\n".join(said), re.M)) == ["done", "unchanged"]
    assert sum("waiting for another run that is executing 00_tiny" in each for each in said) == 1
    assert (tmp_path / "figures" / "default" / "00_tiny" / "x.csv").read_text() == "1"
    assert not list((tmp_path / "figures" / "default").glob(".*"))
