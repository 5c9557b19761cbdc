"""Harmful archives are unpacked inside their folder or refused.

Downloads that were killed are finished.
"""

from __future__ import annotations

import gzip
import random
import signal
import stat
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sizes import CASES, KILLS
from tests.tools.test_download import TEXT, Server, tarred, zipped
from tests.trust.launcher import Plan, Run, empty, tree
from tools import download


def unpack(content: bytes, folder: Path) -> Path:
    """Unpack below `folder`; returns where.

    Checks that there are only plain files and that nothing was made beside it.
    """
    place = folder / "inside"
    place.mkdir(parents=True, exist_ok=True)
    (folder / "archive").write_bytes(content)
    try:
        download.unpack(folder / "archive", place)
    finally:
        assert sorted(path.name for path in folder.iterdir()) == ["archive", "inside"]
        found = [path.lstat().st_mode for path in place.rglob("*")]
        assert all(
            stat.S_ISDIR(mode) or (stat.S_ISREG(mode) and not mode & 0o7111)
            for mode in found
        )
    return place


# SECURITY: "an archive stays in its folder: plain files only, none that climbs out, at
# most 100 times its size"
@pytest.mark.parametrize(
    "name", ["../x", "/outside-of-all/x", "a/../../x", "//x/y", ".."]
)
def test_a_member_cannot_climb_out(tmp_path, name) -> None:
    for content in (zipped({name: b"x"}), tarred({name: b"x"})):
        with pytest.raises(ValueError, match="would land outside its folder"):
            unpack(content, tmp_path)
    assert not Path("/outside-of-all").exists()


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE]
)
def test_links_and_devices_are_passed_over(tmp_path, kind) -> None:
    place = unpack(tarred({"a": b""}, kind, "/etc/passwd"), tmp_path)
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("mode", [stat.S_IFLNK | 0o777, stat.S_IFREG | 0o4777])
def test_a_link_or_a_program_in_a_zip_becomes_a_file_that_nobody_can_start(
    tmp_path, mode
) -> None:
    place = unpack(zipped({"a": b".."}, mode), tmp_path)
    assert (place / "a").read_text() == ".."


def test_a_bomb_is_not_unpacked_nor_a_zip_whose_sizes_are_lies_beyond_them(
    tmp_path,
) -> None:
    zeros = {"a": bytes(20_000_000)}
    for content in (zipped(zeros), tarred(zeros)):
        with pytest.raises(ValueError, match="grow to more than 100 times its size"):
            unpack(content, tmp_path)
        assert not list((tmp_path / "inside").rglob("*"))
    lies = bytearray(zipped({"a": bytes(1_000_000)}))
    for signature, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        place = lies.index(signature) + offset
        lies[place : place + 4] = (100).to_bytes(4, "little")
    with pytest.raises(zipfile.BadZipFile):
        unpack(bytes(lies), tmp_path)
    assert sum(file.stat().st_size for file in (tmp_path / "inside").rglob("*")) <= 100


GOOD = {
    "zip": zipped({"a/b.txt": b"text " * 500, "c": b"more" * 300}),
    "tar.gz": tarred({"a/b.txt": b"text " * 500}),
}


@pytest.fixture(scope="module")
def places(tmp_path_factory) -> Iterator[Path]:
    return (tmp_path_factory.mktemp("place") for _ in iter(int, 1))


@settings(max_examples=CASES)
@given(st.sampled_from(list(GOOD)), st.data())
def test_a_spoiled_archive_is_unpacked_inside_or_refused(places, kind, data) -> None:
    content = bytearray(GOOD[kind] if kind == "zip" else gzip.decompress(GOOD[kind]))
    for place in data.draw(st.lists(st.integers(0, len(content) - 1), max_size=5)):
        content[place] = data.draw(st.integers(0, 255))
    content = content[: data.draw(st.integers(0, len(content)))]
    try:
        unpack(
            bytes(content) if kind == "zip" else gzip.compress(bytes(content)),
            next(places),
        )
    except (ValueError, OSError, *download.DAMAGED):
        return


def test_a_killed_download_is_finished_by_the_next_run_with_the_same_files(
    tmp_path,
) -> None:
    """Killed before it touches a file; all files are compared, hidden ones too."""
    server, place = Server(), tmp_path / "data"
    server.content = {
        "text": TEXT,
        "packed": zipped({"a.txt": b"x", "b.txt": b"x", "c/d.txt": b"x"}),
    }
    (tmp_path / "addresses").write_text(f"{server.url('text')} {server.url('packed')}")
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    whole = Run("downloaded", empty(place)).end()
    expected = tree(place)
    touches = range(1, whole["touches"] + 1)
    for touch in random.Random(0).sample(touches, min(KILLS, len(touches))):
        empty(place)
        assert Run("downloaded", place, Plan(signal.SIGKILL, touch)).end()["killed"]
        Run("downloaded", place).end()
        assert tree(place) == expected
    server.shutdown()
    server.server_close()
