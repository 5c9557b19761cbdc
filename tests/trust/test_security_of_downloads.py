"""Downloads that lead elsewhere, do not end or are packed to do harm: against a server on this machine."""

from __future__ import annotations

import gzip
import io
import re
import stat
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import requests
from hypothesis import given, settings
from hypothesis import strategies as st

from lib import catalog
from lib.catalog import archives, download
from lib.run import paths
from lib.run.errors import InputError
from tests.sizes import CASES


class Server(ThreadingHTTPServer):
    """Leads from /to?ADDRESS there and from /circle to itself; /endless does not end; notes what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[str] = []
        self.address = f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        self.close_connection = True
        if self.path.startswith(("/to?", "/circle")):
            self.send_response(302)
            self.send_header("Location", self.path.removeprefix("/to?"))
            self.end_headers()
            return
        self.send_response(200)
        self.end_headers()
        try:
            while self.path == "/endless":
                self.wfile.write(b"a line of text\n" * 10_000)
            self.wfile.write(b"a line of text\n")
        except OSError:
            return  # whoever asked has hung up

    def log_message(self, *arguments) -> None:
        """Quiet."""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    running = Server()
    threading.Thread(target=running.serve_forever, daemon=True).start()
    yield running
    running.shutdown()
    running.server_close()


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr(paths, "DATA", tmp_path / "data")
    monkeypatch.delenv(catalog.DATA_VARIABLE, raising=False)
    return tmp_path / "data"


def fetch(url: str, **more) -> None:
    source = {"url": url, "format": "text", "to": "toy/text.txt"} | more
    about = {"title": "A toy", "kind": "corpus", "license": "MIT", "citation": "toy", "page": "https://example.org"}
    files = [{"path": "toy/text.txt"}]
    asset = catalog.Asset("toy", **about, access="free", used_by=["n2o"], files=files, downloads=[source])
    download.download(asset)


def left_over(data: Path) -> list[str]:
    return [file.name for file in data.rglob("*") if file.is_file() and file.suffix != ".lock"]


# -- where an address leads ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "target",
    [
        "http://127.0.0.2:{port}/secret",  # not this machine by the names that are accepted
        "http://example.org/file",
        "file:///etc/passwd",
        "ftp://example.org/file",
        "//example.org/file",
    ],
)
def test_a_redirect_to_what_is_not_https_is_not_followed(server, data, target) -> None:
    target = target.format(port=server.server_port)
    before = len(server.asked)
    with pytest.raises(InputError, match="which is not https; it was not followed"):
        fetch(f"{server.address}/to?{target}")
    assert server.asked[before:] == [f"/to?{target}"]
    assert left_over(data) == []


def test_an_https_address_that_leads_to_this_machine_is_not_followed() -> None:
    """Else a page elsewhere could have what only this machine may see, saved as data."""
    answer = requests.Response()
    answer.status_code, answer.url = 302, "https://example.org/file"
    answer.headers["Location"] = "http://127.0.0.1:8888/api"
    with pytest.raises(InputError, match="not https"):
        download._refuse_unsafe(answer)
    answer.headers["Location"] = "https://mirror.example.org/file"
    download._refuse_unsafe(answer)
    answer.headers["Location"] = "/another/place"
    download._refuse_unsafe(answer)


def test_a_redirect_on_the_same_terms_is_followed(server, data) -> None:
    fetch(f"{server.address}/to?/file")
    assert (data / "toy/text.txt").read_bytes() == b"a line of text\n"


def test_a_circle_of_redirects_ends_with_a_sentence(server, data) -> None:
    with pytest.raises(InputError, match="TooManyRedirects"):
        fetch(f"{server.address}/circle")
    assert left_over(data) == []


@pytest.mark.parametrize(
    "url", ["http://example.org/x", "file:///etc/passwd", "ftp://127.0.0.1/x", "data:text/plain,x"]
)
def test_only_https_is_asked(url) -> None:
    with pytest.raises(InputError, match="is not https"):
        fetch(url)


def test_every_address_of_the_catalog_is_https() -> None:
    urls = [source["url"] for asset in catalog.assets().values() for source in asset.downloads]
    assert [url for url in urls if not url.startswith("https://")] == []


# -- without end --------------------------------------------------------------------------------


def test_a_download_without_end_stops_at_twice_the_size_that_is_known(server, data) -> None:
    with pytest.raises(InputError, match="is longer than 6,000,000 bytes"):
        fetch(f"{server.address}/endless", size=3_000_000)
    assert left_over(data) == []


def test_one_of_unknown_size_stops_too(server, data, monkeypatch) -> None:
    monkeypatch.setattr(download, "LARGEST", 5e6)
    with pytest.raises(InputError, match="is longer than 5,000,000 bytes"):
        fetch(f"{server.address}/endless")
    assert left_over(data) == []


# -- archives -----------------------------------------------------------------------------------


def tarred(*members: tuple[str, bytes, bytes, str]) -> bytes:
    """A tar.gz of members: name, type, content, where a link leads."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, kind, content, link in members:
            info = tarfile.TarInfo(name)
            info.type, info.size, info.linkname = kind, len(content), link
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def zipped(*members: tuple[str, bytes, int]) -> bytes:
    """A zip of members: name, content, Unix mode."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content, mode in members:
            info = zipfile.ZipInfo(name)
            info.external_attr, info.compress_type = mode << 16, zipfile.ZIP_DEFLATED
            archive.writestr(info, content)
    return buffer.getvalue()


def unpack(content: bytes, kind: str, folder: Path) -> Path:
    """Unpack below `folder`; returns where, having seen that nothing was made beside it."""
    place = folder / "inside"
    place.mkdir(parents=True)
    (folder / "archive").write_bytes(content)
    try:
        archives.unpack(folder / "archive", kind, place)
    finally:
        assert sorted(path.name for path in folder.iterdir()) == ["archive", "inside"]
        assert not any(path.is_symlink() or path.stat().st_nlink > 1 for path in place.rglob("*") if path.is_file())
    return place


FILE = tarfile.REGTYPE
OUTSIDE = ["../x", "/outside-of-all/x", "a/../../x", "..\\x", "C:\\x", "C:x", "a/..\\..\\x", "//x/y", ".."]


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
@pytest.mark.parametrize("name", OUTSIDE)
def test_a_member_cannot_climb_out(tmp_path, kind, name) -> None:
    content = zipped((name, b"x", 0o644)) if kind == "zip" else tarred((name, FILE, b"x", ""))
    with pytest.raises(InputError, match="would land outside its folder"):
        unpack(content, kind, tmp_path)
    assert not Path("/outside-of-all").exists()


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
@pytest.mark.parametrize("link", ["..", "inside.txt", "/etc/passwd"])
def test_links_and_devices_are_refused_wherever_they_lead(tmp_path, kind, link) -> None:
    content = tarred(("inside.txt", FILE, b"x", ""), ("a", kind, b"", link), ("a/x", FILE, b"through it", ""))
    with pytest.raises(InputError, match="'a' is a link or a device"):
        unpack(content, "tar.gz", tmp_path)


def test_a_link_in_a_zip_is_refused(tmp_path) -> None:
    with pytest.raises(InputError, match="'a' is a link"):
        unpack(zipped(("a", b"..", stat.S_IFLNK | 0o777), ("a/x", b"through it", 0o644)), "zip", tmp_path)


def test_nothing_unpacked_can_be_started_or_has_another_owner(tmp_path) -> None:
    place = unpack(zipped(("a", b"#!/bin/sh", stat.S_IFREG | 0o4777)), "zip", tmp_path)
    assert not (place / "a").stat().st_mode & (stat.S_IXUSR | stat.S_ISUID)


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_a_bomb_is_not_unpacked(tmp_path, kind) -> None:
    zeros = bytes(20_000_000)
    content = zipped(("a", zeros, 0o644)) if kind == "zip" else tarred(("a", FILE, zeros, ""))
    with pytest.raises(InputError, match="would grow to 100 times its size"):
        unpack(content, kind, tmp_path)
    assert not list((tmp_path / "inside").rglob("*"))


def test_many_small_members_are_a_bomb_too(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(archives, "MOST_MEMBERS", 10)
    with pytest.raises(InputError, match="would grow"):
        unpack(zipped(*((f"{i}", b"", 0o644) for i in range(11))), "zip", tmp_path)


def test_a_header_without_end_is_not_read_into_memory(tmp_path) -> None:
    header = tarfile.TarInfo("x")
    header.type, header.size = tarfile.XHDTYPE, 1 << 32
    with pytest.raises(InputError, match="is damaged"):
        unpack(gzip.compress(header.tobuf(tarfile.USTAR_FORMAT) + bytes(1 << 21)), "tar.gz", tmp_path)


def test_a_sparse_file_counts_with_its_holes(tmp_path) -> None:
    info = tarfile.TarInfo("sparse")
    info.type = tarfile.GNUTYPE_SPARSE
    block = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    block[386:398], block[398:410] = b"00000000000\0", b"00000000000\0"
    block[483:495] = b"%011o\0" % (8**10)  # the size with its holes: a gigabyte
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    with pytest.raises(InputError, match="would grow"):
        unpack(gzip.compress(bytes(block) + bytes(1024)), "tar.gz", tmp_path)


def test_a_zip_whose_sizes_are_lies_is_damaged(tmp_path) -> None:
    content = bytearray(zipped(("a", bytes(1_000_000), 0o644)))
    for signature, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        place = content.index(signature) + offset
        content[place : place + 4] = (100).to_bytes(4, "little")
    with pytest.raises(InputError, match="is damaged"):
        unpack(bytes(content), "zip", tmp_path)
    assert sum(file.stat().st_size for file in (tmp_path / "inside").rglob("*")) <= 100


@pytest.mark.parametrize("second", ["a", "a/b"])
def test_a_name_that_is_used_twice_is_damage(tmp_path, second) -> None:
    with pytest.raises(InputError, match="stands there twice"):
        unpack(tarred(("a", FILE, b"1", ""), (second, FILE, b"2", "")), "tar.gz", tmp_path)


GOOD = {
    "zip": zipped(("a/b.txt", b"text " * 500, 0o644), ("c", b"more" * 300, 0o644)),
    "tar.gz": tarred(("a", tarfile.DIRTYPE, b"", ""), ("a/b.txt", FILE, b"text " * 500, "")),
}


@pytest.fixture(scope="module")
def places(tmp_path_factory) -> Iterator[Path]:
    return (tmp_path_factory.mktemp("place") for _ in iter(int, 1))


@settings(max_examples=CASES)
@given(st.sampled_from(list(GOOD)), st.data())
def test_a_spoiled_archive_is_unpacked_inside_or_refused_in_a_sentence(places, kind, data) -> None:
    content = bytearray(GOOD[kind] if kind == "zip" else gzip.decompress(GOOD[kind]))
    for place in data.draw(st.lists(st.integers(0, len(content) - 1), max_size=5)):
        content[place] = data.draw(st.integers(0, 255))
    content = content[: data.draw(st.integers(0, len(content)))]
    spoiled = bytes(content) if kind == "zip" else gzip.compress(bytes(content))
    assert re.search("^$|refused, since|is damaged", sentence(spoiled, kind, next(places)))


def sentence(content: bytes, kind: str, folder: Path) -> str:
    """What is said of an archive; empty if it is unpacked."""
    try:
        unpack(content, kind, folder)
    except InputError as error:
        return str(error)
    return ""
