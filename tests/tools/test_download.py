"""Downloads are resumed, checked, unpacked in their folder, and never partial.

They are tested against a server on this machine.
"""

from __future__ import annotations

import hashlib
import io
import tarfile
import threading
import zipfile
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from lib import catalog
from tests.refusals import refused
from tests.trust.launcher import files_of_at_most
from tools import download

TEXT = b"a line of text\n" * 200_000  # three megabytes: several chunks


class Server(ThreadingHTTPServer):
    """Serves `content` by path; hangs up after `cut` bytes, `cuts` times.

    /to?ADDRESS leads there.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.content: dict[str, bytes] = {}
        self.cut, self.cuts, self.version = 0, 0, "1"
        self.paths: list[str] = []
        self.ranges: list[str | None] = []

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_port}/{path}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        path = self.path.lstrip("/")
        self.server.paths.append(path)
        self.server.ranges.append(self.headers.get("Range"))
        self.close_connection = True
        if path.startswith("to?"):
            self.send_response(302)
            self.send_header("Location", path.removeprefix("to?"))
            self.end_headers()
        elif path not in self.server.content:
            self.send_error(404)
        else:
            self._send(self.server.content[path])

    def do_HEAD(self) -> None:
        content = self.server.content.get(self.path.lstrip("/"))
        self.send_response(404 if content is None else 200)
        if content is not None:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()

    def _send(self, content: bytes) -> None:
        start = 0
        if (
            self.headers.get("Range")
            and self.headers.get("If-Range") == self.server.version
        ):
            start = int(self.headers["Range"].removeprefix("bytes=").rstrip("-"))
        if start and start >= len(content):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(content) - start))
        self.send_header("ETag", self.server.version)
        self.end_headers()
        body = content[start:]
        if self.server.cuts:
            self.server.cuts -= 1
            body = body[: self.server.cut]
        self.wfile.write(body)

    def log_message(self, *arguments) -> None:
        """Quiet."""


@pytest.fixture
def server(monkeypatch):
    running = Server()
    threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
    monkeypatch.setattr(download, "ALLOWED", (running.url(""),))
    yield running
    running.shutdown()
    running.server_close()


@pytest.fixture(autouse=True)
def data(data_folder):
    return data_folder


def asset(files: list[str], *downloads: dict, access: str = "free") -> catalog.Asset:
    return catalog.Asset(
        id="toy", title="A toy", kind="corpus", license="MIT", citation="toy",
        page="https://example.org", access=access, used_by=["n2o"],
        files=[{"path": path} for path in files], downloads=list(downloads),
        how="ask for it",
    )  # fmt: skip


def one_file(url: str, **more) -> catalog.Asset:
    return asset(
        ["toy/text.txt"], {"url": url, "format": "text", "to": "toy/text.txt"} | more
    )


def text(server: Server, **more) -> catalog.Asset:
    server.content["text"] = TEXT
    return one_file(server.url("text"), **more)


def left_over(data) -> set[str]:
    return {
        str(file.relative_to(data))
        for file in data.rglob("*")
        if file.is_file() and file.suffix != ".lock"
    }


def zipped(members: dict[str, bytes], mode: int = 0o644) -> bytes:
    """A zip of files by name, all with one Unix mode."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, content)
    return buffer.getvalue()


def tarred(
    members: dict[str, bytes], kind: bytes = tarfile.REGTYPE, link: str = ""
) -> bytes:
    """A tar.gz of files by name, or of links and devices that lead somewhere."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.type = kind
            info.linkname = link
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


# -- what arrives ----------------------------------------------------------------------


def test_a_file_arrives_whole_once_and_nothing_else_stays(server, data) -> None:
    for _ in range(2):
        download.download(text(server))
    assert server.paths == ["text"]
    assert (data / "toy/text.txt").read_bytes() == TEXT
    assert left_over(data) == {"toy/text.txt"}


def test_a_size_that_the_catalog_lacks_is_asked_of_the_server(server) -> None:
    assert download.size(text(server)) == len(TEXT)
    assert download.size(text(server, size=7)) == 7
    assert download.size(one_file(server.url("nothing"))) is None
    assert server.paths == []  # nothing was fetched


@pytest.mark.parametrize(("kind", "pack"), [("zip", zipped), ("tar.gz", tarred)])
def test_archives_are_unpacked_in_their_folder(server, data, kind, pack) -> None:
    members = {"inner/a.txt": b"a", "inner/deep/b.txt": b"b", "README": b"no"}
    server.content["archive"] = pack(members)
    source = {"url": server.url("archive"), "format": kind, "into": "toy"}
    download.download(asset(["toy/a.txt"], source | {"folder": "inner"}))
    assert left_over(data) == {"toy/a.txt", "toy/deep/b.txt"}


# -- interruptions ---------------------------------------------------------------------


def interrupted(server: Server) -> catalog.Asset:
    """An asset whose download has stopped after two thirds."""
    server.cut, server.cuts = 2_000_000, 1
    wanted = text(server)
    with refused("run again when the network is back"):
        download.download(wanted)
    return wanted


# README: "`make data` fetches what is free"
def test_an_interrupted_download_goes_on_where_it_stopped(server, data) -> None:
    wanted = interrupted(server)
    assert not (data / "toy").exists()
    download.download(wanted)
    assert (data / "toy/text.txt").read_bytes() == TEXT
    first, second = server.ranges
    assert first is None
    assert 0 < int(second.removeprefix("bytes=").rstrip("-")) <= 2_000_000


def test_a_download_that_was_killed_when_all_had_arrived_is_finished(
    server, data
) -> None:
    """A server refuses to send the rest of a file that is whole."""
    part = data / ".fetch" / "toy" / "0" / "part"
    part.parent.mkdir(parents=True)
    part.write_bytes(TEXT)
    part.with_suffix(".tag").write_text(server.version)
    download.download(text(server))
    assert left_over(data) == {"toy/text.txt"}
    assert (data / "toy/text.txt").read_bytes() == TEXT


def test_a_file_that_changed_in_between_is_fetched_from_the_start(server, data) -> None:
    wanted = interrupted(server)
    server.version, server.content["text"] = "2", TEXT[::-1]
    download.download(wanted)
    assert (data / "toy/text.txt").read_bytes() == TEXT[::-1]


def test_a_download_on_a_full_disk_gets_a_sentence_and_goes_on_later(
    server, data
) -> None:
    wanted = text(server)
    with (
        files_of_at_most(2_000_000),
        refused("cannot be written (File too large); mak"),
    ):
        download.download(wanted)
    assert not (data / "toy").exists()
    download.download(wanted)
    assert (data / "toy/text.txt").read_bytes() == TEXT


def test_two_fetches_at_once_download_once(server, data) -> None:
    wanted = text(server)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(download.download, [wanted, wanted]))
    assert server.paths == ["text"]
    assert (data / "toy/text.txt").read_bytes() == TEXT


# -- refusals --------------------------------------------------------------------------

PAGE = b"\xef\xbb\xbf\n <HTML><body>Too many requests"
REFUSED = [  # content, format, what is said
    (PAGE, "text", "no text file, it begins with"),
    (b"", "text", "no text file"),
    (b"not a zip", "zip", "no zip file"),
    (zipped({"a.txt": b"a" * 1000})[:50], "zip", "not the expected file"),
    (zipped({"b.txt": b"b"}), "zip", "it lacks a.txt"),
    (tarred({"a.txt": b"a" * 1000})[:60], "tar.gz", "not the expected file"),
    (b"options", "json", "no json file"),
    (b"neither zip nor pickle", "torch", "no torch file"),
]


# SECURITY: "otherwise the first bytes of its format"
# Named by what is said: a gzip file holds the time at which it was made, which may
# differ from one process of the tests to the next.
@pytest.mark.parametrize(
    ("content", "kind", "said"), REFUSED, ids=[said for *_, said in REFUSED]
)
def test_what_is_not_what_it_should_be_is_refused_and_not_kept(
    server, data, content, kind, said
) -> None:
    server.content["file"] = content
    place = {"into": "toy"} if kind in ("zip", "tar.gz") else {"to": "toy/a.txt"}
    source = {"url": server.url("file"), "format": kind} | place
    with refused(said):
        download.download(asset(["toy/a.txt"], source))
    assert left_over(data) == set()


# SECURITY: "the SHA-256 where the catalog has one"
def test_a_wrong_hash_is_refused_and_the_next_call_fetches_anew(server, data) -> None:
    with refused("does not match the known hash: expected 00"):
        download.download(text(server, sha256="00"))
    assert left_over(data) == set()
    download.download(text(server, sha256=hashlib.sha256(TEXT).hexdigest()))
    assert left_over(data) == {"toy/text.txt"}


def test_a_server_without_the_file_or_out_of_reach_gets_a_sentence(server) -> None:
    with refused("toy: cannot be fetched (404"):
        download.download(one_file(server.url("nothing")))
    server.shutdown()
    server.server_close()
    for ask in (download.download, download.size):
        with pytest.raises(download.UnreachableError, match="cannot be reached"):
            ask(text(server))


# SECURITY: "https alone, wherever a redirect leads"
@pytest.mark.parametrize(
    "address", ["http://127.0.0.2/secret", "file:///etc/passwd", "ftp://127.0.0.1/x"]
)
def test_nothing_but_https_is_asked_wherever_an_address_leads(
    server, data, address
) -> None:
    for url in (address, server.url(f"to?{address}")):
        with refused("is not https, or redirects to http"):
            download.download(one_file(url))
    assert server.paths == [f"to?{address}"]
    assert left_over(data) == set()


# SECURITY: "at most twice the known size, or 20 GB"
def test_a_download_stops_at_twice_the_size_that_is_known(server, data) -> None:
    with refused("longer than 2,000,000 bytes"):
        download.download(text(server, size=1_000_000))
    assert left_over(data) == set()
