"""Weight files that are cut, damaged, of another kind or made to do harm: right vectors, or a sentence that names them.

Where a format has a checksum, no damage gives other vectors; where it has a length, no cut does. A text without either
(GloVe's lines, a bare list of tokens) that ends exactly after a line cannot be told from a whole one.
"""

from __future__ import annotations

import json
import os
import pickle
import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lib.run import paths
from lib.run.errors import InputError
from tests.sizes import CASES, NIGHTLY
from tests.trust.giants import GIANTS
from tests.trust.patience import in_time
from tests.trust.weights import CONTENT, LENGTH, READERS, Reader

PATIENCE = 60  # seconds for one small file, on a busy machine: anything beyond is a hang
FEW = max(10, CASES // 10)  # cases where one takes some hundredths of a second
JSON_READERS = {name for name in READERS if "config" in name or name.split()[-1] in ("options", "index", "length")}
DAMAGE = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@dataclass
class Case:
    """A reader with good files in a folder, one of which is to be damaged."""

    reader: Reader
    folder: Path
    file: Path
    good: bytes
    right: Any

    def outcome(self, content: bytes) -> str:
        """What comes of other content in the file: "right", "other", or the sentence that is raised."""
        if self.file.is_symlink() or not self.file.is_dir():
            self.file.unlink(missing_ok=True)
        self.file.write_bytes(content)
        return self.outcome_as_it_is()

    def outcome_as_it_is(self) -> str:
        """What comes of the files as they are; any exception but InputError goes through."""
        try:
            with in_time(PATIENCE):
                found = self.reader.read(self.folder)
        except InputError as error:
            sentence = str(error)
            assert str(self.folder) in sentence
            assert "\n" not in sentence
            assert len(sentence) < 1500
            return sentence
        return "right" if found == self.right else "other"


@pytest.fixture(scope="module", params=READERS)
def case(request, tmp_path_factory) -> Iterator[Case]:
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("weights")
        patch.setattr(paths, "CACHE", tmp_path_factory.mktemp("cache"))
        reader = READERS[request.param]
        file = reader.write(folder)
        yield Case(reader, folder, file, file.read_bytes(), reader.read(folder))


# -- cut, damaged, something else ---------------------------------------------------------------


def lengths(size: int, dear: bool) -> list[int]:
    """Where to cut: everywhere up to some kilobytes at night, else at places evenly spread, both ends among them."""
    most = (256 if dear else 8192) if NIGHTLY else (6 if dear else 30)
    if size <= most:
        return list(range(size))
    return sorted({0, 1, size - 1, *(size * i // most for i in range(most))})


def test_a_file_that_is_cut_anywhere_gives_a_sentence_or_the_right_vectors(case) -> None:
    for length in lengths(len(case.good), case.reader.dear):
        outcome = case.outcome(case.good[:length])
        assert outcome != "other" or case.reader.tells not in (LENGTH, CONTENT), length


def damages(good: bytes) -> st.SearchStrategy[bytes]:
    """The bytes with a few of them changed, taken out or put in, mostly near the start, where headers are."""
    places = st.one_of(st.floats(0, 1), st.floats(0, 1).map(lambda x: x**3)).map(lambda x: int(x * (len(good) - 1)))
    sizes = [b"\xff" * 4, b"\xff" * 8, b"\0" * 8, b"\xff\xff\xff\x7f", b"\xff" * 7 + b"\x7f", b"\0\0\0\0\0\1\0\0"]
    pieces = st.one_of(st.binary(min_size=1, max_size=1), st.sampled_from(sizes), st.binary(max_size=40))
    changed = st.builds(lambda i, piece: good[:i] + piece + good[i + len(piece) :], places, pieces)
    put_in = st.builds(lambda i, piece: good[:i] + piece + good[i:], places, pieces)
    taken_out = st.builds(lambda i, n: good[:i] + good[i + n :], places, st.integers(1, 60))
    bit = st.builds(lambda i, b: good[:i] + bytes([good[i] ^ 1 << b]) + good[i + 1 :], places, st.integers(0, 7))
    noise = st.builds(lambda i, tail: good[: min(i, 64)] + tail, places, st.binary(max_size=300))
    return st.one_of(bit, changed, put_in, taken_out, noise)


def test_any_damage_gives_a_sentence_or_finite_vectors(case) -> None:
    @settings(DAMAGE, max_examples=FEW if case.reader.dear else CASES)
    @given(content=damages(case.good))
    def damage(content: bytes) -> None:
        outcome = case.outcome(content)
        assert outcome != "other" or case.reader.tells != CONTENT

    damage()


ELSE = {
    "nothing": b"",
    "a web page": b"\n<!DOCTYPE html><html><body>404</body></html>",
    "zeros": bytes(3000),
    "ones": b"\xff" * 3000,
    "noise": random.Random(0).randbytes(3000),
    "deep JSON": b"[" * 100_000,
    "deeper JSON": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
}


def test_another_file_in_its_place_gives_a_sentence(case) -> None:
    for content in list(ELSE.values())[: None if NIGHTLY or not case.reader.dear else 5]:
        assert case.outcome(content) != "other" or case.reader.tells not in (LENGTH, CONTENT), content[:20]


class Harmful:
    """What a pickle can do to those who read it."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple:
        return os.mkdir, (str(self.trace),)


def test_a_pickle_in_its_place_is_not_run(case, tmp_path) -> None:
    trace = tmp_path / "it was run"
    assert case.outcome(pickle.dumps({"enc_lstm.weight_ih_l0": Harmful(trace)}, 2)) != "other"
    assert not trace.exists()


PLACES = {
    "a folder": lambda file, other: file.mkdir(),
    "a pipe": lambda file, other: os.mkfifo(file),
    "a device without an end": lambda file, other: file.symlink_to("/dev/zero"),
    "a device without content": lambda file, other: file.symlink_to("/dev/null"),
    "a link to itself": lambda file, other: file.symlink_to(file),
    "a link to nothing": lambda file, other: file.symlink_to(other),
    "no file": lambda file, other: None,
}


def test_what_is_no_file_is_not_waited_for(case, tmp_path) -> None:
    case.file.unlink(missing_ok=True)
    for place, put in PLACES.items():
        put(case.file, tmp_path / "nothing")
        outcome = case.outcome_as_it_is()
        if case.file.is_dir():
            case.file.rmdir()
        else:
            case.file.unlink(missing_ok=True)
        assert outcome != "other" or case.reader.dear, place  # of a transformer's folder, some files may be missing


# -- JSON ---------------------------------------------------------------------------------------

WILD = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-3, 5),
        st.sampled_from([2**31, 2**63, 10**30, -(2**40), 10**9, float("nan"), float("inf"), 0.5]),
        st.sampled_from(["", "x", "../../etc/passwd", "\ud800", "9" * 5000]),
    ),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


def fields(document: Any, path: tuple = ()) -> Iterator[tuple]:
    """The paths of all that is in a JSON document, some levels deep."""
    yield path
    holds_more = isinstance(document, dict | list) and len(path) < 4
    inner = document.items() if isinstance(document, dict) else enumerate(document if holds_more else ())
    for key, value in inner if holds_more else ():
        yield from fields(value, (*path, key))


def edited(good: bytes, path: tuple, value: Any, *, remove: bool) -> bytes:
    """A JSON document with another value in a place, or without it."""
    document = json.loads(good)
    holder = whole = [document]
    for key in (0, *path)[:-1]:
        holder = holder[key]
    last = (0, *path)[-1]
    if remove and path:
        del holder[last]
    else:
        holder[last] = value
    return json.dumps(whole[0]).encode()


@pytest.mark.parametrize("case", sorted(JSON_READERS), indirect=True)
def test_wrong_values_in_json_give_a_sentence_or_finite_vectors(case) -> None:
    places = list(fields(json.loads(case.good)))

    @settings(DAMAGE, max_examples=FEW if case.reader.dear else CASES)
    @given(path=st.sampled_from(places), value=WILD, remove=st.integers(0, 4).map(lambda i: not i))
    def edit(path: tuple, value: Any, remove: bool) -> None:
        case.outcome(edited(case.good, path, value, remove=remove))

    edit()


# -- files that claim, or unpack to, more than there is memory ------------------------------------


@pytest.fixture(scope="module")
def said_of_giants(tmp_path_factory) -> dict[str, str]:
    """What was said of each, read one after the other by a process that is given little memory."""
    folder = tmp_path_factory.mktemp("giants")
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    program = [sys.executable, "-m", "tests.trust.giants", str(folder)]
    done = subprocess.run(
        program, cwd=paths.ROOT, env=os.environ | one_thread, stdout=subprocess.PIPE, timeout=600, check=False
    )
    return dict(json.loads(line) for line in done.stdout.splitlines())


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="this system does not say how much memory is taken")
@pytest.mark.parametrize("name", GIANTS)
def test_what_claims_to_be_huge_gets_a_sentence_in_little_memory(said_of_giants, name) -> None:
    said = said_of_giants.get(name, "broke: the process came down")
    assert not said.startswith("broke: ")
    assert "/giants" in said
    assert "\n" not in said
