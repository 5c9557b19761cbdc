"""A full disk or one that cannot be written: a sentence that names the folder, nothing lost, and on it goes later.

A disk is full in two ways: a small one that is mounted, where the system allows that, and a limit on the size of
files, which any user can set.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import re
import resource
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from lib import catalog, corpora, fitted, plotting, store
from lib.catalog import __main__ as fetching
from lib.catalog import download
from lib.catalog.asset import Asset
from lib.corpora import cache as corpora_cache
from lib.embedders.static import WordVectors
from lib.run import cache as whole_cache
from lib.run import paths
from lib.run import runner as run
from lib.run.errors import InputError, said_in_a_sentence
from tests.trust.test_corruption import Lengths, as_lists, contents
from tests.unit.test_download import Server
from tests.unit.test_neighborhoods import toy
from tests.unit.test_store import Letters, dense
from tools import readme

SIZE = 2 << 20  # bytes of the disk that is mounted
PAGE = os.sysconf("SC_PAGESIZE")
ROOM = (0, PAGE, 3 * PAGE)  # bytes that a full disk has left
SENTENCES = [f"sentence number {i} of many, {'and longer ' * (i % 7)}than one" for i in range(200)]

_system = ctypes.CDLL(ctypes.util.find_library("c"), use_errno=True)


# -- disks ------------------------------------------------------------------------------------------


class Mounted:
    """A disk in memory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._mount(0, f"size={SIZE},mode=700")

    def _mount(self, flags: int, options: str) -> None:
        given = (b"tmpfs", bytes(self.folder), b"tmpfs", flags, options.encode())
        if not hasattr(_system, "mount") or _system.mount(*given):
            pytest.skip(f"a disk can be mounted only by the superuser of Linux ({os.strerror(ctypes.get_errno())})")

    @contextmanager
    def full(self, room: int) -> Iterator[None]:
        status = os.statvfs(self.folder)
        ballast = self.folder / "ballast"
        ballast.write_bytes(bytes(status.f_bavail * status.f_frsize - room))
        try:
            yield
        finally:
            ballast.unlink()

    @contextmanager
    def read_only(self) -> Iterator[None]:
        remount, only_read = 32, 1
        self._mount(remount | only_read, f"size={SIZE}")
        try:
            yield
        finally:
            self._mount(remount, f"size={SIZE}")

    def close(self) -> None:
        detach = 2
        _system.umount2(bytes(self.folder), detach)


class Limited:
    """A folder of any disk, whose files cannot grow."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def full(self, room: int) -> Iterator[None]:
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    @contextmanager
    def read_only(self) -> Iterator[None]:
        if not os.geteuid():
            pytest.skip("no permission keeps the superuser from writing")
        every = [self.folder, *(path for path in self.folder.rglob("*") if path.is_dir())]
        for path in every:
            path.chmod(0o500)
        try:
            yield
        finally:
            for path in every:
                path.chmod(0o700)

    def close(self) -> None:
        """Nothing to do."""


@pytest.fixture(params=[Mounted, Limited], ids=["mounted", "limited"])
def disk(request, tmp_path) -> Iterator[Mounted | Limited]:
    (tmp_path / "disk").mkdir()
    made = request.param(tmp_path / "disk")
    yield made
    made.close()


# -- what is written --------------------------------------------------------------------------------


def embed(folder: Path) -> None:
    vectors = store.EmbeddingStore(folder).embed(Letters(), SENTENCES)
    np.testing.assert_array_equal(vectors, Letters().encode(SENTENCES))


def embed_sparsely(folder: Path) -> None:
    vectors = store.EmbeddingStore(folder).embed(Letters(sparse=True), SENTENCES)
    np.testing.assert_array_equal(dense(vectors), Letters().encode(SENTENCES))


def learn(folder: Path) -> None:
    paths.CACHE = folder
    assert fitted.fit(Lengths(), SENTENCES).encode(["x"]) == sum(map(len, SENTENCES))


def segment(folder: Path) -> None:
    text = folder.parent / "running.txt"
    if not text.exists():
        text.write_text(
            "\n\n".join(f"{sentence.capitalize()}. The end of part {i}." for i, sentence in enumerate(SENTENCES))
        )
    corpora_cache.FOLDER = folder
    assert len(corpora.load(f"text:{text}")) == 2 * len(SENTENCES)


def convert(folder: Path) -> None:
    vectors = folder.parent / "vectors.txt"
    if not vectors.exists():
        vectors.write_text("".join(f"word{i} " + " ".join(str(i + j) for j in range(20)) + "\n" for i in range(150)))
    paths.CACHE = folder
    words, matrix, *_ = as_lists(WordVectors.load(vectors, show_progress_bar=False))
    assert (len(words), matrix[149][19]) == (150, 168)


def train_words(folder: Path) -> None:
    from lib.embedders.trained import Training

    paths.CACHE = folder
    Training("word2vec", dim=40, epochs=1).train(SENTENCES)


def save_model(folder: Path) -> None:
    from lib.sent2vec import Sent2Vec, binary
    from lib.sent2vec.dictionary import Dictionary
    from lib.sent2vec.model import _header
    from lib.sent2vec.settings import Settings

    dictionary = Dictionary.build((f"{sentence}\n".encode() for sentence in SENTENCES), 1, 1, -1)
    rows = len(dictionary.words)
    header = _header(Settings(dim=40, word_ngrams=1))
    matrices = np.ones((rows + header.bucket + 1, 40), np.float32), np.ones((rows, 40), np.float32)
    Sent2Vec(binary.ModelFile(header, dictionary, *matrices)).save(folder / "model.bin")


def check_in(folder: Path) -> None:
    from lib.sent2vec.checkpoints import Checkpoint
    from lib.sent2vec.kernels import Model
    from lib.sent2vec.settings import Settings

    model = Model(np.ones((300, 16), np.float32), np.ones((200, 16), np.float32))
    Checkpoint(folder / "sent2vec.checkpoint", Settings(), "text").write({"epoch": 1}, model)


def check_in_finetuning(folder: Path) -> None:
    import torch

    from lib.finetuning.checkpoint import Checkpoint

    Checkpoint(folder / "checkpoint.pt", {"task": "toy"}).write({"step": 3, "model": torch.ones(3600)})


def publish(folder: Path) -> None:
    toy().write(folder / "neighbors.parquet")


def draw(folder: Path) -> None:
    plotting.use_style()
    with plotting_into(folder):
        figure, axes = plt.subplots(figsize=(2, 2))
        axes.plot([1, 2, 3])
        plotting.show(figure, "toy", "lines", "Lines.")


def tabulate(folder: Path) -> None:
    with plotting_into(folder):
        plotting.write_table(pd.DataFrame({"k": range(2000)}), "toy", "table")


@contextmanager
def plotting_into(folder: Path) -> Iterator[None]:
    os.environ[paths.FIGURES_VARIABLE] = str(folder / "figures")
    try:
        yield
    finally:
        del os.environ[paths.FIGURES_VARIABLE]
        plt.close("all")


def fetch(folder: Path) -> None:
    paths.DATA = folder
    source = {"url": served(), "to": "toy.txt", "format": "text"}
    download.download(replace(ASSET, downloads=[source]))


@cache
def served() -> str:
    """The address of a text on a server of this process."""
    server = Server()
    server.content["toy.txt"] = b"a line of text\n" * 2000
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.url("toy.txt")


def put_up(folder: Path) -> None:
    """A site, but for what Sphinx makes of it."""
    from tools.site.build import _replace

    built = folder.parent / "built"
    if not built.exists():
        for name in ("index.html", "notebooks/01.html", "_static/site.js"):
            (built / name).parent.mkdir(parents=True, exist_ok=True)
            (built / name).write_text("<p>of the site</p>\n" * 1000)
    _replace(built, folder / "site")


def execute(folder: Path) -> None:
    """A notebook, but for the kernel."""
    paths.FIGURES, paths.RUNS = folder / "figures", folder / "runs"
    outcome = run.run(JOB)
    if outcome.status == "failed":
        raise InputError(outcome.reason)


SOURCE = {"url": "https://example.org/toy.txt", "to": "toy.txt", "format": "text"}
ASSET = Asset("toy", "Toy", "text", "none", "", "https://example.org", "free", [], [{"path": "toy.txt"}], [SOURCE])
JOB = run.Job(paths.NOTEBOOKS / "00_start_here.ipynb", "default", {})

GROWING = {"vectors", "data", "indices", "indptr", "shards.jsonl"}  # files of the store, whose journal says what counts
JOBS: dict[str, Callable[[Path], None]] = {
    "embeddings": embed,
    "sparse embeddings": embed_sparsely,
    "what was learned": learn,
    "a corpus": segment,
    "word vectors": convert,
    "trained vectors": train_words,
    "a Sent2Vec model": save_model,
    "a checkpoint": check_in,
    "a checkpoint of fine-tuning": check_in_finetuning,
    "neighbors": publish,
    "a figure": draw,
    "a table": tabulate,
    "a download": fetch,
    "a site": put_up,
    "results of a run": execute,
}
KEPT = ("embeddings", "sparse embeddings", "what was learned", "a corpus", "word vectors", "trained vectors")


@pytest.fixture(autouse=True)
def places(monkeypatch) -> None:
    """What jobs set is set back; a notebook is executed without a kernel; any text is long enough for the cache."""
    for module, name in (
        (paths, "CACHE"), (paths, "DATA"), (paths, "FIGURES"), (paths, "RUNS"), (corpora_cache, "FOLDER"),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, getattr(module, name))
    monkeypatch.setattr(store, "SHARD", 64)
    monkeypatch.setattr(corpora, "LONG_WORK", 0)
    monkeypatch.setattr(run, "_papermill", lambda job, output, held: output.write_text("executed\n" * 1000))
    monkeypatch.setattr(run, "_peak", lambda: 0.0)
    monkeypatch.setattr(run, "digest", lambda *of: "d" * 32)
    monkeypatch.setattr(corpora.segmentation, "segment", in_sentences)


def in_sentences(passages: Iterable, segmenter: str, processes: int) -> Iterator[tuple[bool, list[str]]]:
    """In the place of the segmenter, which takes its time to load."""
    return ((passage.opens, passage.text.split(". ")) for passage in passages)


def said(job: Callable[[Path], None], folder: Path, log: str) -> str:
    """What a user is told when a job fails, or else what has been logged."""
    try:
        job(folder)
    except InputError as error:
        return str(error)
    return log


def files_of(folder: Path) -> dict[str, bytes]:
    """What jobs leave, but for what waits for the next run, tells of a failed one, or names places and times."""
    others = (paths.COST, ".log", ".failed.ipynb")
    return {
        name: content
        for name, content in contents(folder).items()
        if not name.endswith(others) and not name.startswith((".fetch/", "vectors/word2vec"))
    }


# -- full -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", JOBS)
def test_a_full_disk_gets_a_sentence_and_the_next_run_ends_with_the_same_bytes(disk, name, caplog) -> None:
    job = JOBS[name]
    (disk.folder / "undisturbed").mkdir()
    job(disk.folder / "undisturbed")
    whole = files_of(disk.folder / "undisturbed")
    sentences = []
    for room in ROOM:
        folder = disk.folder / f"with {room}"
        folder.mkdir()
        caplog.clear()
        with disk.full(room):
            sentence = said(job, folder, "")
        sentences.append(sentence or "".join(caplog.messages))
        for file, content in files_of(folder).items():
            is_growing = Path(file).name in GROWING
            assert whole[file].startswith(content) if is_growing else whole[file] == content
        job(folder)
        assert files_of(folder) == whole
        shutil.rmtree(folder)
    assert all("\n" not in sentence for sentence in sentences)
    assert f"{disk.folder / 'with 0'}" in sentences[0]
    assert any(word in sentences[0] for word in ("No space left on device", "File too large"))


# -- read-only --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", JOBS)
def test_a_folder_that_cannot_be_written_gets_a_sentence(disk, name, caplog) -> None:
    job, folder = JOBS[name], disk.folder / "results"
    (disk.folder / "before").mkdir()
    job(disk.folder / "before")
    folder.mkdir()
    with disk.read_only():
        sentence = said(job, folder, "") or "".join(caplog.messages)
    assert str(folder) in sentence
    assert "Read-only file system" in sentence or "Permission denied" in sentence
    assert "\n" not in sentence
    job(folder)


@pytest.mark.parametrize("name", KEPT)
def test_what_is_complete_is_used_where_nothing_can_be_written(disk, name, caplog) -> None:
    (disk.folder / "cache").mkdir()
    JOBS[name](disk.folder / "cache")
    before = Lengths.learned
    with disk.read_only():
        JOBS[name](disk.folder / "cache")
    assert not caplog.messages
    assert Lengths.learned == before


def test_embeddings_are_used_where_what_describes_them_is_damaged_and_cannot_be_mended(disk, caplog) -> None:
    embed(disk.folder / "cache")
    (file,) = disk.folder.glob("cache/*/entry.json")
    file.write_text("{")
    with disk.read_only():
        embed(disk.folder / "cache")
    assert f"{file}: is damaged" in caplog.text
    assert f"{file}: cannot be written" in caplog.text


# -- commands ---------------------------------------------------------------------------------------


def test_the_cache_is_not_deleted_where_it_cannot_be_and_a_sentence_says_so(disk, monkeypatch, capsys) -> None:
    monkeypatch.setattr(paths, "CACHE", disk.folder / "cache")
    (paths.CACHE / "embeddings").mkdir(parents=True)
    (paths.CACHE / "embeddings" / "vectors").write_bytes(bytes(100))
    with disk.read_only():
        assert whole_cache.main(["--prune"]) == 2
    told = capsys.readouterr().err
    assert str(paths.CACHE) in told
    assert told.count("\n") == 1
    assert whole_cache.size(paths.CACHE) == 100
    assert whole_cache.main(["--prune"]) == 0
    assert whole_cache.size(paths.CACHE) == 0


def test_the_readme_stays_whole_where_it_cannot_be_written(disk, monkeypatch, capsys) -> None:
    monkeypatch.setattr(readme, "README", disk.folder / "README.md")
    monkeypatch.setattr(readme, "studies", lambda sources: "| a table |\n" * 1000)
    monkeypatch.setattr(readme, "total", lambda sources: "It takes a while.\n")
    before = "<!-- studies -->\n<!-- /studies -->\n<!-- cost -->\n<!-- /cost -->\n"
    readme.README.write_text(before)
    with disk.full(0):
        assert readme.main([]) == 2
    told = capsys.readouterr().err
    assert str(disk.folder) in told
    assert told.count("\n") == 1
    assert readme.README.read_text() == before
    assert readme.main([]) == 0


def test_a_data_folder_that_cannot_be_written_gets_a_sentence(disk, monkeypatch, capsys) -> None:
    monkeypatch.setattr(paths, "DATA", disk.folder / "data")
    monkeypatch.delenv(catalog.DATA_VARIABLE, raising=False)
    monkeypatch.setattr(catalog, "assets", lambda: {"toy": ASSET})
    with disk.read_only():
        assert fetching.main([]) == 1
    told = capsys.readouterr().err
    assert f"{paths.DATA}: cannot be written (" in told
    assert "Traceback" not in told


def test_outputs_of_commands_that_cannot_be_made_get_a_sentence(disk) -> None:
    from lib.finetuning import _alone
    from lib.situate.__main__ import _made

    with disk.read_only():
        with pytest.raises(
            InputError, match=rf"--output: {re.escape(str(disk.folder))}/situated cannot be made \(.*\); give another"
        ):
            _made(disk.folder / "situated")
        with (
            pytest.raises(
                InputError,
                match=rf"output: {re.escape(str(disk.folder))}/bert.partial cannot be written to \(.*\); give",
            ),
            _alone(disk.folder / "bert.partial"),
        ):
            pytest.fail("not reached")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full, a disk that is always full")
@pytest.mark.parametrize(
    ("command", "unbuffered"), [("tools.glossary", ""), ("lib.run.cache", ""), ("lib.run.cache", "1")]
)
def test_output_that_goes_to_a_full_disk_gets_a_sentence(command, unbuffered, tmp_path) -> None:
    (tmp_path / "runs").mkdir()
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", command],
            cwd=paths.ROOT,
            env=os.environ | {"SENTENCE_CACHE": str(tmp_path), "PYTHONUNBUFFERED": unbuffered},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 2
    assert done.stderr == "standard output, or a file: No space left on device; make room there, and run again\n"


def test_a_command_whose_disk_fails_says_so_in_a_sentence_and_other_errors_are_not_hidden(capsys) -> None:
    @said_in_a_sentence
    def command(number: int) -> int:
        raise OSError(number, os.strerror(number), "/a/file")

    assert command(5) == 2
    assert capsys.readouterr().err == "/a/file: Input/output error; see to that disk, and run again\n"
    with pytest.raises(FileNotFoundError):
        command(2)
