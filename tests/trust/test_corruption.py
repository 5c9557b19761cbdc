"""Damage on disk is noticed and named, and what was damaged is made again: never a wrong number, never a traceback."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from lib import catalog, fitted, neighborhoods, store
from lib.catalog import __main__ as fetching
from lib.catalog import download
from lib.catalog.asset import Asset
from lib.corpora import cache as corpora_cache
from lib.embedders.base import Embedder
from lib.embedders.static import WordVectors
from lib.embedders.word_vectors import cache as vectors_cache
from lib.run import files, paths
from lib.run import runner as run
from lib.run.errors import InputError
from tests.sizes import CASES
from tests.unit.test_neighborhoods import same, toy
from tests.unit.test_store import Letters, dense
from tools import readme

SENTENCES = [f"sentence number {i} of many" for i in range(20)]
SHARD = 8

# The fixtures of a test are set up once for all of its cases, each of which puts back what the one before has damaged.
many = settings(max_examples=CASES, suppress_health_check=[HealthCheck.function_scoped_fixture])


# -- damage -----------------------------------------------------------------------------------------


class Damage(NamedTuple):
    """What happens to a file, and where: `place` is a share of its length."""

    kind: str
    place: float
    value: int

    def __call__(self, content: bytes) -> bytes | None:
        """The damaged content; None for a file that is gone."""
        at = int(self.place * len(content))
        return {
            "flipped": lambda: (
                content[:at] + bytes([content[at] ^ self.value]) + content[at + 1 :] if content else b"x"
            ),
            "truncated": lambda: content[:at],
            "emptied": lambda: b"",
            "too long": lambda: content + bytes([self.value]) * 5,
            "garbled": lambda: content[:at] + bytes((self.value * i) % 256 for i in range(len(content) - at)),
            "zeroed": lambda: content[:at] + bytes(len(content) - at),
            "twice": lambda: content + content,
            "a line twice": lambda: b"".join(line * (1 + (i == at % 3)) for i, line in enumerate(_lines(content))),
            "a line less": lambda: b"".join(line for i, line in enumerate(_lines(content)) if i != at % 3),
            "another JSON": lambda: [b"null", b"[]", b"{}", b'"x"', b"7", b"[" * 5000][self.value % 6],
            "gone": lambda: None,
        }[self.kind]()


def _lines(content: bytes) -> list[bytes]:
    return content.splitlines(keepends=True)


KINDS = (
    "flipped", "truncated", "emptied", "too long", "garbled", "zeroed", "twice", "a line twice", "a line less",
    "another JSON", "gone",
)  # fmt: skip
damages = st.builds(
    Damage,
    st.one_of(st.just("flipped"), st.sampled_from(KINDS)),
    st.floats(0, 1, exclude_max=True),
    st.integers(1, 255),
)
flips = st.builds(Damage, st.just("flipped"), st.floats(0, 1, exclude_max=True), st.integers(1, 255))
picks = st.integers(0, 2**16)  # which of some files


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and not file.name.endswith("lock")
    }


def put(folder: Path, whole: dict[str, bytes]) -> None:
    """Give a folder these files, and no others."""
    for name in contents(folder).keys() - whole.keys():
        (folder / name).unlink()
    for name, content in whole.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    files._crc32.cache_clear()  # cases come faster than the clock of the files ticks
    files._sha256.cache_clear()


def damage_one(folder: Path, whole: dict[str, bytes], pick: int, damage: Damage) -> str:
    """Put everything back and damage one file; returns its name."""
    name = sorted(whole)[pick % len(whole)]
    damaged = {**whole, name: damage(whole[name])}
    put(folder, {name: content for name, content in damaged.items() if content is not None})
    return name


def answer(function: Callable[[], Any]) -> tuple[Any, str]:
    """What a function returns, or else the sentence that it raises."""
    try:
        return function(), ""
    except InputError as error:
        return None, str(error)


@pytest.fixture(autouse=True)
def fast(monkeypatch) -> None:
    """Small shards; nothing here is about power failures, so nothing need reach the disk."""
    monkeypatch.setattr(store, "SHARD", SHARD)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


# -- what files say of themselves -------------------------------------------------------------------

jsons = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@many
@given(st.dictionaries(st.text(max_size=4).filter("check".__ne__), jsons, max_size=4), damages)
def test_a_sealed_line_gives_back_what_was_sealed_or_nothing(content: dict, damage: Damage) -> None:
    line = files.sealed(content).encode()
    assert files.unsealed(line) == content
    with suppress(ValueError):
        assert files.unsealed(damage(line) or b"") == content


# -- the store --------------------------------------------------------------------------------------


@pytest.fixture
def embeddings(tmp_path) -> Callable[[bool], Path]:
    def made(sparse: bool) -> Path:
        store.EmbeddingStore(tmp_path).embed(Letters(sparse), SENTENCES)
        (entry,) = tmp_path.iterdir()
        return entry

    return made


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_damage_anywhere_in_the_store_gives_the_same_vectors(embeddings, sparse) -> None:
    entry, expected = embeddings(sparse), dense(Letters(sparse).encode(SENTENCES))
    whole = contents(entry)

    @many
    @given(picks, damages)
    @example(1 if sparse else 0, Damage("emptied", 0.0, 1))
    def damaged(pick: int, damage: Damage) -> None:
        name = damage_one(entry, whole, pick, damage)
        vectors = store.EmbeddingStore(entry.parent).embed(Letters(sparse), SENTENCES)
        np.testing.assert_array_equal(dense(vectors), expected)
        del vectors
        again = Letters(sparse)
        np.testing.assert_array_equal(dense(store.EmbeddingStore(entry.parent).embed(again, SENTENCES)), expected)
        assert again.encoded == 0
        if name != "shards.jsonl":  # in which blanks may differ
            assert contents(entry)[name] == whole[name]

    damaged()


class Signed(Letters):
    """One of two embedders of one pass, "a" and "b", whose vectors are those of the other with their signs changed."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    @property
    def companions(self) -> list[Signed]:
        return [Signed("b" if self.name == "a" else "a")]

    def _encode_together(self, sentences) -> list:
        counts = self._encode(sentences)
        return [counts, -counts] if self.name == "a" else [-counts, counts]


@many
@given(picks, damages, picks, damages)
def test_damage_in_two_places_of_two_embedders_of_one_pass(tmp_path_factory, first, one, second, other) -> None:
    folder = tmp_path_factory.getbasetemp() / "companions"
    stored = store.EmbeddingStore(folder)
    stored.embed(Signed("a"), SENTENCES)
    whole = contents(folder)
    damage_one(folder, whole, first, one)
    name = sorted(whole)[second % len(whole)]
    if (changed := other(whole[name])) is not None:
        (folder / name).write_bytes(changed)
    expected = Letters().encode(SENTENCES)
    np.testing.assert_array_equal(stored.embed(Signed("b"), SENTENCES), -expected)
    np.testing.assert_array_equal(stored.embed(Signed("a"), SENTENCES), expected)


@many
@given(st.binary(max_size=400) | st.recursive(st.none() | st.integers() | st.text(max_size=5), st.lists, max_leaves=5))
def test_any_journal_at_all_gives_the_same_vectors(tmp_path_factory, journal) -> None:
    folder = tmp_path_factory.getbasetemp() / "journal"
    stored = store.EmbeddingStore(folder)
    stored.embed(Letters(), SENTENCES)
    (entry,) = folder.iterdir()
    (entry / "shards.jsonl").write_bytes(journal if isinstance(journal, bytes) else json.dumps(journal).encode())
    np.testing.assert_array_equal(stored.embed(Letters(), SENTENCES), Letters().encode(SENTENCES))


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_entries_from_before_lines_had_checksums_are_used_and_their_damage_is_noticed(embeddings, sparse) -> None:
    entry, expected = embeddings(sparse), dense(Letters(sparse).encode(SENTENCES))
    lines = [files.unsealed(line) for line in (entry / "shards.jsonl").read_bytes().splitlines()]
    (entry / "shards.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    whole = contents(entry)
    embedder = Letters(sparse)
    store.EmbeddingStore(entry.parent).embed(embedder, SENTENCES)
    assert embedder.encoded == 0
    changes = [("rows", 16), ("rows", 0), ("rows", None), ("dim", 25), ("dim", "26"), ("files", {}), ("files", [])]
    for name, value in changes:
        put(entry, whole)
        changed = [*lines[:-1], {**lines[-1], name: value}]
        (entry / "shards.jsonl").write_text("".join(json.dumps(line) + "\n" for line in changed))
        vectors = store.EmbeddingStore(entry.parent).embed(Letters(sparse), SENTENCES)
        np.testing.assert_array_equal(dense(vectors), expected)


def test_the_entry_that_was_damaged_is_named(embeddings, caplog) -> None:
    entry = embeddings(False)
    for name, said in (("vectors", "a shard is damaged; encoding again from sentence 8"), ("entry.json", "is damaged")):
        content = bytearray((entry / name).read_bytes())
        content[len(content) // 2] ^= 1
        (entry / name).write_bytes(content)
        caplog.clear()
        store.EmbeddingStore(entry.parent).embed(Letters(), SENTENCES)
        assert str(entry) in caplog.text
        assert said in caplog.text


def test_what_a_former_layout_has_left_does_no_harm(embeddings) -> None:
    entry = embeddings(True)
    (entry / "vectors").touch()  # that of dense vectors
    (entry / "shard-0.npy").write_bytes(b"of another layout")
    (entry / "data.old").mkdir()
    embedder = Letters(True)
    vectors = store.EmbeddingStore(entry.parent).embed(embedder, SENTENCES)
    np.testing.assert_array_equal(dense(vectors), dense(Letters(True).encode(SENTENCES)))
    assert sp.issparse(vectors)
    assert embedder.encoded == 0


def test_a_cache_from_another_format_is_left_alone_and_not_used(tmp_path, monkeypatch) -> None:
    stored = store.EmbeddingStore(tmp_path)
    monkeypatch.setattr(store, "FORMAT", 0)
    stored.embed(Letters(), SENTENCES)
    before = contents(tmp_path)
    monkeypatch.setattr(store, "FORMAT", 1)
    embedder = Letters()
    stored.embed(embedder, SENTENCES)
    assert embedder.encoded == len(SENTENCES)
    assert before.items() <= contents(tmp_path).items()


def test_a_lock_of_a_process_that_is_gone_holds_nobody(embeddings) -> None:
    entry = embeddings(False)
    (entry / "vectors").unlink()
    (entry / "lock").write_text("4194304 a process that has died\n")
    os.chmod(entry / "lock", 0o444)
    store.EmbeddingStore(entry.parent).embed(Letters(), SENTENCES)


def test_a_lock_that_is_a_folder_gets_a_sentence(embeddings) -> None:
    entry = embeddings(False)
    (entry / "vectors").unlink()
    (entry / "lock").unlink()
    (entry / "lock").mkdir()
    with pytest.raises(
        InputError, match=r"letters-\w+: cannot be written \(Is a directory\); it is not complete: make"
    ):
        store.EmbeddingStore(entry.parent).embed(Letters(), SENTENCES)


# -- what embedders have learned --------------------------------------------------------------------


class Lengths(Embedder):
    """Learns two arrays from a text, and counts how often."""

    name, needs_fit = "lengths", True
    learned = 0

    def __init__(self, shift: int = 0) -> None:
        self.shift = shift

    @property
    def settings(self) -> dict:
        return {"shift": self.shift}

    def _fit(self, sentences, show_progress_bar) -> None:
        type(self).learned += 1
        self.lengths = np.array([len(sentence) + self.shift for sentence in sentences], np.int64)
        self.squares = (self.lengths**2).astype(np.float32).reshape(-1, 2)

    def _state(self) -> dict[str, np.ndarray]:
        return {"lengths": self.lengths, "squares": self.squares}

    def _restore(self, state, fitted_on) -> None:
        self.lengths, self.squares = state["lengths"], state["squares"]

    def _encode(self, sentences) -> np.ndarray:
        return np.full((len(sentences), 1), self.lengths.sum(), np.float32)


def is_right(embedder: Lengths) -> bool:
    expected = Lengths(embedder.shift)
    expected._fit(SENTENCES, False)
    states = zip(embedder._state().values(), expected._state().values(), strict=True)
    return all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in states)


@pytest.fixture
def learned(tmp_path, monkeypatch) -> Path:
    """The file that holds what was learned."""
    monkeypatch.setattr(paths, "CACHE", tmp_path)
    fitted.fit(Lengths(), SENTENCES)
    (file,) = (tmp_path / "fitted").glob("*.npz")
    return file


def test_damage_anywhere_in_what_was_learned_never_changes_it(learned) -> None:
    whole = contents(learned.parent)

    @many
    @given(damages)
    def damaged(damage: Damage) -> None:
        damage_one(learned.parent, whole, 0, damage)
        assert is_right(fitted.fit(Lengths(), SENTENCES))
        before = Lengths.learned
        fitted.fit(Lengths(), SENTENCES)
        assert Lengths.learned == before

    damaged()


@pytest.mark.parametrize(
    "arrays",
    [
        {},
        {"lengths": np.arange(20)},
        {"lengths": np.arange(20), "squares": np.zeros((10, 2), np.float32)},
        {"lengths": np.arange(3), "squares": np.zeros((7, 7)), "checksum": np.zeros(16, np.uint8)},
        {"checksum": np.float32(7)},
    ],
    ids=["nothing", "one less", "without a checksum", "other shapes", "a number"],
)
def test_a_sound_file_of_other_arrays_is_refused_and_named(learned, arrays, caplog) -> None:
    np.savez(learned, **arrays)
    assert is_right(fitted.fit(Lengths(), SENTENCES))
    assert f"{learned}: cannot be used" in caplog.text


def test_what_another_embedder_has_learned_is_refused(learned) -> None:
    fitted.fit(Lengths(shift=1), SENTENCES)
    (other,) = set(learned.parent.glob("*.npz")) - {learned}
    learned.write_bytes(other.read_bytes())
    assert is_right(fitted.fit(Lengths(), SENTENCES))


# -- corpora ----------------------------------------------------------------------------------------


@pytest.fixture
def corpus(tmp_path) -> Path:
    arrays = {"text": np.frombuffer(b"one. two.", np.uint8), "starts": np.array([0, 5, 9]), "ledes": np.array([0])}
    corpora_cache.write(tmp_path / "corpus", arrays, {"duplicates": 17, "fragments": 23})
    return tmp_path / "corpus"


def test_damage_anywhere_in_a_segmented_corpus_is_noticed(corpus) -> None:
    whole = contents(corpus)
    arrays, counts = corpora_cache.read(corpus)
    expected = {name: array.tolist() for name, array in arrays.items()}

    @many
    @given(picks, damages)
    def damaged(pick: int, damage: Damage) -> None:
        damage_one(corpus, whole, pick, damage)
        read = corpora_cache.read(corpus)
        assert read is None or ({name: array.tolist() for name, array in read[0].items()}, read[1]) == (
            expected,
            counts,
        )

    damaged()


def test_a_corpus_of_an_older_version_is_named_and_made_again(corpus, caplog) -> None:
    description = files.unsealed((corpus / "corpus.json").read_bytes())
    (corpus / "corpus.json").write_text(json.dumps(description))  # as it was before it had a checksum
    assert corpora_cache.read(corpus) is None
    assert f"{corpus}: damaged, or of an older version" in caplog.text


# -- word vectors -----------------------------------------------------------------------------------


@pytest.fixture
def words(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr(paths, "CACHE", tmp_path / "cache")
    lines = [f"word{i} " + " ".join(str(i * j / 8) for j in range(5)) for i in range(30)]
    (tmp_path / "vectors.txt").write_text("\n".join(lines) + "\n")
    return tmp_path / "vectors.txt"


def as_lists(vectors: WordVectors) -> tuple:
    return (
        list(vectors.words),
        np.asarray(vectors.matrix).tolist(),
        vectors.fingerprint,
        vectors.rows(["word7", "x"]).tolist(),
    )


def test_damage_anywhere_in_converted_word_vectors_is_noticed(words) -> None:
    load = partial(WordVectors.load, words, show_progress_bar=False)
    expected = as_lists(load())
    (entry,) = (folder for folder in (paths.CACHE / "vectors").iterdir() if folder.is_dir())
    whole = contents(entry)

    @many
    @given(picks, damages)
    def damaged(pick: int, damage: Damage) -> None:
        name = damage_one(entry, whole, pick, damage)
        assert as_lists(load()) == expected
        assert contents(entry)[name] == whole[name]

    damaged()


def test_word_vectors_of_an_older_version_are_named_and_converted_again(words, caplog) -> None:
    expected = as_lists(WordVectors.load(words))
    (about,) = (paths.CACHE / "vectors").glob("*/about.json")
    described = files.unsealed(about.read_bytes())
    about.write_text(json.dumps(described | {"files": {name: size for name, (size, _) in described["files"].items()}}))
    assert as_lists(WordVectors.load(words)) == expected
    assert f"{about.parent}: is damaged, or of an older version; converting again" in caplog.text


def test_of_a_very_large_matrix_the_beginning_is_checked(words, monkeypatch) -> None:
    monkeypatch.setattr(vectors_cache, "CHECKED", 400)
    expected = as_lists(WordVectors.load(words))
    (matrix,) = (paths.CACHE / "vectors").glob("*/matrix.npy")
    content = bytearray(matrix.read_bytes())
    content[300] ^= 1  # in the ninth row
    matrix.write_bytes(content)
    files._crc32.cache_clear()
    assert as_lists(WordVectors.load(words)) == expected


# -- neighbors --------------------------------------------------------------------------------------


def test_damage_anywhere_in_stored_neighbors_gets_a_sentence_or_changes_nothing(tmp_path) -> None:
    file = tmp_path / "neighbors.parquet"
    toy().write(file)
    whole = contents(tmp_path)

    @many
    @given(damages)
    def damaged(damage: Damage) -> None:
        damage_one(tmp_path, whole, 0, damage)
        read, sentence = answer(partial(neighborhoods.read, file))
        assert sentence.startswith(f"{file}: ") if sentence else same(read, toy())

    damaged()


# -- trainings --------------------------------------------------------------------------------------


def test_a_damaged_checkpoint_of_sent2vec_gets_a_sentence_or_changes_nothing(tmp_path, rng) -> None:
    from lib.sent2vec.checkpoints import Checkpoint
    from lib.sent2vec.kernels import Model
    from lib.sent2vec.settings import Settings

    model = Model(rng.random((4, 16), np.float32), rng.random((3, 16), np.float32))
    checkpoint = Checkpoint(tmp_path / "checkpoint", Settings(), "of the text")
    state = {"epoch": 3, "history": [[1, 0.5]]}
    checkpoint.write(state, model)
    whole = contents(tmp_path)

    @many
    @given(damages)
    def damaged(damage: Damage) -> None:
        damage_one(tmp_path, whole, 0, damage)
        into = Model(*(np.empty_like(matrix) for matrix in model))
        read, sentence = answer(partial(checkpoint.read, into))
        if sentence:
            assert sentence == f"{checkpoint.path}: this checkpoint is damaged; delete it to start anew"
        else:
            assert read == state
            assert all(map(np.array_equal, into, model))

    damaged()


def test_a_damaged_checkpoint_of_finetuning_gets_a_sentence_or_changes_nothing(tmp_path) -> None:
    import torch

    from lib.finetuning.checkpoint import Checkpoint

    state = {"step": 5, "model": {"weight": torch.arange(64.0).reshape(8, 8)}}
    checkpoint = Checkpoint(tmp_path / "checkpoint.pt", {"task": "of the test"})
    checkpoint.write(state)
    whole = contents(tmp_path)

    @many
    @given(damages)
    def damaged(damage: Damage) -> None:
        damage_one(tmp_path, whole, 0, damage)
        read, sentence = answer(checkpoint.read)
        if sentence:
            assert sentence == f"{checkpoint.path}: this checkpoint is damaged; delete it to start anew"
        elif checkpoint.path.exists():
            assert read["step"] == 5
            assert torch.equal(read["model"]["weight"], state["model"]["weight"])

    damaged()


def test_vectors_that_were_trained_and_then_damaged_are_trained_again(tmp_path, monkeypatch, caplog) -> None:
    from lib.embedders.trained import Training

    monkeypatch.setattr(paths, "CACHE", tmp_path)
    training = Training("word2vec", dim=4, epochs=1)
    expected = as_lists(training.train(SENTENCES))
    (file,) = (tmp_path / "trained").glob("*.bin")
    for damage in (Damage("flipped", 0.9, 64), Damage("truncated", 0.5, 1)):
        file.write_bytes(damage(file.read_bytes()))
        files._crc32.cache_clear()
        caplog.clear()
        assert as_lists(training.train(SENTENCES)) == expected
        assert f"{file}: is damaged, or of an older version; training again" in caplog.text
        with caplog.at_level(logging.ERROR):
            file.with_suffix(".json").unlink()
        assert as_lists(training.train(SENTENCES)) == expected


# -- runs and their results -------------------------------------------------------------------------


@pytest.fixture
def job(tmp_path, monkeypatch) -> run.Job:
    """One that has run, with a table and a figure."""
    monkeypatch.setattr(paths, "FIGURES", tmp_path / "figures")
    monkeypatch.setattr(paths, "RUNS", tmp_path / "runs")
    job = run.Job(tmp_path / "01_toy.ipynb", "default", {})
    job.results.mkdir(parents=True)
    job.record.parent.mkdir(parents=True)
    (job.results / "table.csv").write_text("k,n2o\n5,0.25\n")
    (job.results / "figure.png").write_bytes(bytes(range(256)))
    job.record.write_text(json.dumps({"digest": "d" * 32, "results": run._checksums(job.results)}))
    return job


def test_a_result_that_was_changed_is_made_again(job) -> None:
    whole = contents(job.results)
    assert run.unchanged(job, "d" * 32)

    @many
    @given(picks, damages)
    def damaged(pick: int, damage: Damage) -> None:
        name = damage_one(job.results, whole, pick, damage)
        assert run.unchanged(job, "d" * 32) == (contents(job.results).get(name) == whole[name])

    damaged()


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["digest", "results", "x"]), inner),
    max_leaves=6,
)


@many
@given(st.binary(max_size=300) | values.map(json.dumps).map(str.encode))
def test_any_record_of_a_run_at_all_means_that_it_runs_again(tmp_path_factory, record) -> None:
    folder = tmp_path_factory.getbasetemp() / "records"
    folder.mkdir(exist_ok=True)
    job = SimpleNamespace(record=folder / "record.json", results=folder / "results")
    job.record.write_bytes(record)
    assert run.unchanged(job, "d" * 32) is False


@many
@given(flips)
def test_a_damaged_record_of_a_run_means_that_it_runs_again(tmp_path_factory, damage) -> None:
    folder = tmp_path_factory.getbasetemp() / "records"
    folder.mkdir(exist_ok=True)
    job = SimpleNamespace(record=folder / "record.json", results=folder / "results")
    record = {"digest": "d" * 32, "results": {}}
    job.record.write_bytes(damage(json.dumps(record).encode()))
    assert run.unchanged(job, "d" * 32) is (files_equal(job.record, record))


def files_equal(file: Path, expected: dict) -> bool:
    try:
        return json.loads(file.read_bytes()) == expected
    except ValueError:
        return False


@pytest.mark.parametrize("content", ["", "seconds,gigabytes\n", "seconds\n1\n", "seconds,gigabytes\nx,1\n", "\0\n\0\n"])
def test_a_damaged_cost_of_a_run_gets_a_sentence_in_the_readme(tmp_path, content) -> None:
    (tmp_path / paths.COST).write_text(content)
    with pytest.raises(InputError, match=rf"{paths.COST}: is damaged; run make figures again"):
        readme.cost(SimpleNamespace(results=tmp_path))


def test_a_damaged_figure_gets_a_sentence_in_the_readme(tmp_path) -> None:
    from PIL import Image, PngImagePlugin

    from tools.site.lessons import description

    about = PngImagePlugin.PngInfo()
    about.add_text("Description", "Bars")
    Image.new("L", (4, 4)).save(tmp_path / "figure.png", pnginfo=about)
    whole = contents(tmp_path)

    @many
    @given(damages.filter(lambda damage: damage.kind != "gone"))
    def damaged(damage: Damage) -> None:
        damage_one(tmp_path, whole, 0, damage)
        found, sentence = answer(partial(description, tmp_path / "figure.png"))
        assert found in ("Bars", "figure") or sentence.endswith("figure.png: is damaged; run make figures again")

    damaged()


# -- what was fetched -------------------------------------------------------------------------------


@pytest.fixture
def asset(tmp_path, monkeypatch) -> Iterator[Asset]:
    """An asset of one file, whose checksum the catalog knows, in the data folder."""
    monkeypatch.setattr(paths, "DATA", tmp_path)
    monkeypatch.delenv(catalog.DATA_VARIABLE, raising=False)
    (tmp_path / "toy.txt").write_text("one\ntwo\n")
    entry = {"path": "toy.txt", "sha256": files.sha256(tmp_path / "toy.txt")}
    source = {"url": "https://example.org/toy.txt", "to": "toy.txt", "format": "text"}
    toy = Asset("toy", "Toy", "text", "none", "", "https://example.org", "free", [], [entry], [source])
    monkeypatch.setattr(catalog, "assets", lambda: {"toy": toy})
    return toy


def test_an_asset_that_was_damaged_after_it_was_fetched_is_named(asset, capsys) -> None:
    assert catalog.status(asset) == "here"
    (paths.DATA / "toy.txt").write_text("one\nTwo\n")
    files._sha256.cache_clear()
    assert fetching.main([]) == 0
    assert "here, another copy" in capsys.readouterr().out


@pytest.mark.parametrize("record", [b"", b"null", b"[]", b'{"https://exa', b"\xff\xfe", b"[" * 5000])
def test_a_damaged_record_of_what_was_fetched_gets_a_sentence_before_anything_is_fetched(
    asset, record, monkeypatch, capsys
) -> None:
    (paths.DATA / "toy.txt").unlink()
    (paths.DATA / "fetched.json").write_bytes(record)
    monkeypatch.setattr(download.pooch, "retrieve", lambda *arguments, **options: pytest.fail("fetched"))
    assert fetching.main([]) == 1
    said = f"{paths.DATA / 'fetched.json'}: is damaged; delete it, so that the next downloads are recorded anew"
    assert said in capsys.readouterr().err
