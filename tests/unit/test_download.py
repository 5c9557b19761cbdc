"""Downloads are resumed, checked, unpacked in their folder, and never partial.

They are tested against a server on this machine.
"""

from __future__ import annotations

import hashlib
import io
import socket
import subprocess
import sys
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from lib import catalog
from lib.catalog import download
from lib.run import paths
from lib.run.errors import InputError
from tests.refusals import refused

TEXT = b"a line of text\n" * 200_000  # three megabytes: several chunks


class Server(ThreadingHTTPServer):
    """Serves `content` by path; hangs up after `cut` bytes, `cuts` times.

    /to?ADDRESS leads there, and /endless does not end.
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
        elif path == "endless":
            self.send_response(200)
            self.end_headers()
            self._send_without_end()
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

    def _send_without_end(self) -> None:
        try:
            while True:
                self.wfile.write(b"a line of text\n" * 10_000)
        except OSError:
            return  # the client has hung up

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
def data(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "DATA", tmp_path / "data")
    monkeypatch.delenv(paths.DATA_VARIABLE, raising=False)
    return tmp_path / "data"


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


def zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def tarred(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


# -- what arrives ----------------------------------------------------------------------


def test_a_file_arrives_whole_and_nothing_else_stays(server, data) -> None:
    download.download(text(server))
    assert (data / "toy/text.txt").read_bytes() == TEXT
    assert left_over(data) == {"toy/text.txt"}


def test_a_size_that_the_catalog_lacks_is_asked_of_the_server(
    server, monkeypatch
) -> None:
    assert download.size(text(server)) == len(TEXT)
    assert download.size(text(server, size=7)) == 7
    assert download.size(one_file(server.url("nothing"))) is None
    assert server.paths == []  # nothing was fetched
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{closed.getsockname()[1]}/"
        monkeypatch.setattr(download, "ALLOWED", (address,))
        with pytest.raises(download.UnreachableError):
            download.size(one_file(f"{address}text"))


def test_what_is_there_is_not_fetched_again(server, data) -> None:
    for _ in range(2):
        download.download(text(server))
    assert server.paths == ["text"]


@pytest.mark.parametrize("pack", [zipped, tarred])
def test_archives_are_unpacked_in_their_folder(server, data, pack) -> None:
    server.content["archive"] = pack(
        {"inner/a.txt": b"a", "inner/deep/b.txt": b"b", "README": b"no"}
    )
    kind = "zip" if pack is zipped else "tar.gz"
    source = {
        "url": server.url("archive"),
        "format": kind,
        "into": "toy",
        "folder": "inner",
    }
    download.download(asset(["toy/a.txt"], source))
    assert left_over(data) == {"toy/a.txt", "toy/deep/b.txt"}


# -- interruptions ---------------------------------------------------------------------


# README: "`make data` fetches what is free"
def test_an_interrupted_download_goes_on_where_it_stopped(server, data) -> None:
    server.cut, server.cuts = 2_000_000, 1
    wanted = text(server)
    with pytest.raises(download.UnreachableError, match="run again"):
        download.download(wanted)
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
    server.cut, server.cuts = 2_000_000, 1
    wanted = text(server)
    with pytest.raises(InputError):
        download.download(wanted)
    server.version, server.content["text"] = "2", TEXT[::-1]
    download.download(wanted)
    assert (data / "toy/text.txt").read_bytes() == TEXT[::-1]


def test_an_archive_that_was_half_put_in_place_is_finished_without_fetching_it_again(
    server, data, monkeypatch
) -> None:
    """The cataloged file comes last, so the asset does not count as here too soon."""
    server.content["zip"] = zipped({"a.txt": b"a", "b.txt": b"b", "c.txt": b"c"})
    wanted = asset(
        ["toy/a.txt"], {"url": server.url("zip"), "format": "zip", "into": "toy"}
    )
    replace = download.os.replace

    def full(source, target) -> None:
        if str(target).endswith("toy/a.txt"):
            raise OSError(28, "No space left on device")
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(download.os, "replace", full)
        with pytest.raises(
            InputError,
            match=r"cannot be written \(No space left on device\); make room there",
        ):
            download.download(wanted)
    assert (data / "toy/b.txt").exists()
    assert not (data / "toy/a.txt").exists()
    download.download(wanted)
    assert left_over(data) == {"toy/a.txt", "toy/b.txt", "toy/c.txt"}
    assert server.paths == ["zip"]


def test_two_fetches_at_once_download_once(server, data) -> None:
    server.content["text"] = TEXT
    program = (
        "import sys, pathlib; from lib.catalog import download; "
        "from lib.run import paths; paths.DATA = pathlib.Path(sys.argv[1]); "
        "from tests.unit.test_download import one_file; download.ALLOWED = "
        "[sys.argv[2]]; "
        "download.download(one_file(sys.argv[2]))"
    )
    command = [sys.executable, "-c", program, str(data), server.url("text")]
    running = [subprocess.Popen(command, cwd=paths.ROOT) for _ in range(2)]
    assert [process.wait() for process in running] == [0, 0]
    assert server.paths == ["text"]
    assert (data / "toy/text.txt").read_bytes() == TEXT


# -- refusals --------------------------------------------------------------------------

REFUSED = {  # content, format, what is said
    "a web page": (
        b"\xef\xbb\xbf\n <HTML><body>Too many requests",
        "text",
        "no text file, it begins with",
    ),
    "nothing": (b"", "text", "no text file"),
    "a zip by name only": (b"not a zip", "zip", "no zip file"),
    "a zip cut short": (
        zipped({"a.txt": b"a" * 1000})[:500],
        "zip",
        "not what it should be",
    ),
    "a zip with another content": (
        zipped({"a.txt": b"a" * 999}).replace(b"aa", b"bb"),
        "zip",
        "Bad CRC-32",
    ),
    "a zip without the file": (zipped({"b.txt": b"b"}), "zip", "it lacks a.txt"),
    "a tar cut short": (
        tarred({"a.txt": b"a" * 1000})[:60],
        "tar.gz",
        "not what it should be",
    ),
    "JSON by name only": (b"options", "json", "no json file"),
    "weights by name only": (b"neither zip nor pickle", "torch", "no torch file"),
}


# SECURITY: "otherwise the first bytes of its format"
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_what_it_should_be_is_refused_and_not_kept(
    server, data, name
) -> None:
    content, kind, said = REFUSED[name]
    server.content["file"] = content
    place = {"into": "toy"} if kind in ("zip", "tar.gz") else {"to": "toy/a.txt"}
    with pytest.raises(InputError, match=said) as error:
        download.download(
            asset(["toy/a.txt"], {"url": server.url("file"), "format": kind} | place)
        )
    assert str(error.value).endswith("see https://example.org")
    assert left_over(data) == set()


# SECURITY: "the SHA-256 where the catalog has one"
def test_a_wrong_hash_is_refused_and_the_next_call_fetches_anew(server, data) -> None:
    with refused("does not match the known hash: expected 00"):
        download.download(text(server, sha256="00"))
    assert left_over(data) == set()
    download.download(text(server, sha256=hashlib.sha256(TEXT).hexdigest()))
    assert left_over(data) == {"toy/text.txt"}


def test_a_file_that_the_server_does_not_have_gets_a_sentence(server) -> None:
    with pytest.raises(
        InputError,
        match=r"^toy: cannot be fetched \(404 .*\); see https://example.org$",
    ):
        download.download(one_file(server.url("nothing")))


def test_a_server_that_is_not_there_gets_a_sentence(server) -> None:
    server.shutdown()
    server.server_close()
    wanted = text(server)
    with pytest.raises(
        download.UnreachableError,
        match=r"127.0.0.1 cannot be reached .*; run again when the network",
    ):
        download.download(wanted)


# -- where an address leads ------------------------------------------------------------


# SECURITY: "https alone, wherever a redirect leads"
@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/x",
        "http://127.0.0.1/x",
        "file:///etc/passwd",
        "ftp://127.0.0.1/x",
    ],
)
def test_nothing_but_https_is_asked(url) -> None:
    with refused("is not https"):
        download.download(one_file(url))


@pytest.mark.parametrize(
    "target",
    [
        "http://example.org/file",
        "//example.org/file",
        "http://127.0.0.2/secret",
        "file:///etc/passwd",
    ],
)
def test_a_redirect_to_what_is_not_allowed_is_not_followed(
    server, data, target
) -> None:
    with refused("leads to what is not"):
        download.download(one_file(server.url(f"to?{target}")))
    assert server.paths == [f"to?{target}"]
    assert left_over(data) == set()


# SECURITY: "at most twice the known size, or 20 GB"
def test_a_download_without_end_stops_at_twice_the_size_that_is_known(
    server, data
) -> None:
    with refused("longer than 6,000,000 bytes"):
        download.download(one_file(server.url("endless"), size=3_000_000))
    assert left_over(data) == set()
