"""Downloads are resumed, checked, unpacked in their folder, and never half there: against a server on this machine."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import struct
import subprocess
import sys
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from lib import catalog
from lib.catalog import archives, download
from lib.run import paths
from lib.run.errors import InputError

TEXT = b"a line of text\n" * 200_000  # three megabytes: several chunks


class Server(ThreadingHTTPServer):
    """Serves `content` by path; `cut` bytes into an answer it hangs up, as often as `cuts` says."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.content: dict[str, bytes] = {}
        self.cut, self.cuts, self.version, self.requests, self.chunked = 0, 0, "1", [], False

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_port}/{path}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.requests.append(self.headers.get("Range"))
        content = self.server.content.get(self.path.lstrip("/"))
        if content is None:
            self.send_error(404, "Not Found")
            return
        start = 0
        if self.headers.get("Range") and self.headers.get("If-Range") == self.server.version:
            start = int(self.headers["Range"].removeprefix("bytes=").rstrip("-"))
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(content) - start))
        self.send_header("ETag", self.server.version)
        if self.server.chunked:
            self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        body = content[start:]
        if self.server.cuts:
            self.server.cuts -= 1
            body = body[: self.server.cut]
        self.wfile.write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body) if self.server.chunked else body)
        self.close_connection = True

    def log_message(self, *arguments) -> None:
        """Quiet."""


@pytest.fixture
def server():
    running = Server()
    threading.Thread(target=running.serve_forever, daemon=True).start()
    yield running
    running.shutdown()
    running.server_close()


@pytest.fixture(autouse=True)
def data(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "DATA", tmp_path / "data")
    monkeypatch.delenv(catalog.DATA_VARIABLE, raising=False)
    return tmp_path / "data"


def asset(files: list[str], *downloads: dict, access: str = "free") -> catalog.Asset:
    return catalog.Asset(
        id="toy", title="A toy", kind="corpus", license="MIT", citation="toy", page="https://example.org",
        access=access,
        used_by=["n2o"], files=[{"path": path} for path in files], downloads=list(downloads), how="ask for it",
    )  # fmt: skip


def text(server: Server, **more) -> catalog.Asset:
    server.content["text"] = TEXT
    return asset(["toy/text.txt"], {"url": server.url("text"), "format": "text", "to": "toy/text.txt"} | more)


def left_over(data) -> set[str]:
    return {str(file.relative_to(data)) for file in data.rglob("*") if file.is_file() and file.suffix != ".lock"}


def zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def tarred(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for info, content in members:
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def test_a_file_arrives_whole_and_its_hash_is_recorded(server, data) -> None:
    download.download(text(server))
    assert (data / "toy/text.txt").read_bytes() == TEXT
    recorded = json.loads((data / "fetched.json").read_text())
    assert recorded == {server.url("text"): hashlib.sha256(TEXT).hexdigest()}
    assert left_over(data) == {"toy/text.txt", "fetched.json"}


def test_what_is_there_is_not_fetched_again(server, data) -> None:
    for _ in range(2):
        download.download(text(server))
    assert len(server.requests) == 1


def test_an_interrupted_download_goes_on_where_it_stopped(server, data) -> None:
    server.cut, server.cuts = 2_000_000, 1
    with pytest.raises(download.UnreachableError, match="run again"):
        download.download(text(server))
    assert not (data / "toy/text.txt").exists()
    download.download(text(server))
    assert (data / "toy/text.txt").read_bytes() == TEXT
    assert server.requests[0] is None
    start = int(server.requests[1].removeprefix("bytes=").rstrip("-"))
    assert 0 < start <= 2_000_000


def test_an_answer_in_chunks_that_is_shorter_than_it_says_is_not_taken_for_whole(server, data) -> None:
    server.cut, server.cuts, server.chunked = 2_000_000, 1, True
    with pytest.raises(download.UnreachableError, match=r"cannot be reached \(Connection\): run again"):
        download.download(text(server))
    assert not (data / "toy/text.txt").exists()
    download.download(text(server))
    assert (data / "toy/text.txt").read_bytes() == TEXT


def test_a_file_that_changed_in_between_is_fetched_from_the_start(server, data) -> None:
    server.cut, server.cuts = 2_000_000, 1
    wanted = text(server)
    with pytest.raises(InputError):
        download.download(wanted)
    server.version, server.content["text"] = "2", TEXT[::-1]
    download.download(wanted)
    assert (data / "toy/text.txt").read_bytes() == TEXT[::-1]


def test_a_wrong_hash_is_refused_and_nothing_is_kept(server, data) -> None:
    with pytest.raises(InputError, match=r"its sha256 is .* and the catalog has 00"):
        download.download(text(server, sha256="00"))
    assert left_over(data) == set()


def test_a_recorded_hash_is_held_afterwards(server, data) -> None:
    download.download(text(server))
    (data / "toy/text.txt").unlink()
    server.content["text"] = TEXT + b"one more line\n"
    with pytest.raises(InputError, match="an earlier download has"):
        download.download(asset(["toy/text.txt"], {"url": server.url("text"), "format": "text", "to": "toy/text.txt"}))
    assert not (data / "toy/text.txt").exists()


@pytest.mark.parametrize("page", [b"<!DOCTYPE html><html>", b"\n  <html><body>", b"\xef\xbb\xbf<HTML>"])
def test_a_web_page_in_place_of_the_file_is_refused_by_name(server, data, page) -> None:
    wanted = text(server)
    server.content["text"] = page + b"Too many requests"
    with pytest.raises(InputError, match="gave a web page in place of the file"):
        download.download(wanted)
    assert left_over(data) == set()


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("zip", b"PK\x03\x04 and then nothing"),
        ("zip", b"not a zip"),
        ("tar.gz", b"\x1f\x8b and then nothing"),
        ("json", b'{"options": '),
        ("hdf5", b"HDF5 by name only"),
        ("text", b"text\0with a zero byte"),
        ("text", b""),
        ("torch", b"neither zip nor pickle"),
        ("safetensors", b"\xff" * 40),
    ],
)
def test_a_file_of_another_format_is_refused(server, data, kind, content) -> None:
    server.content["file"] = content
    with pytest.raises(InputError, match=rf"is no {kind} file"):
        download.download(asset(["toy/file"], {"url": server.url("file"), "format": kind, "to": "toy/file"}))
    assert left_over(data) == set()


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("json", b"{}"),
        ("hdf5", b"\x89HDF\r\n\x1a\n..."),
        ("torch", b"\x80\x02}."),
        ("safetensors", b"\x02" + b"\0" * 7 + b"{}"),
    ],
)
def test_a_file_of_the_right_format_is_kept(server, data, kind, content) -> None:
    server.content["file"] = content
    download.download(asset(["toy/file"], {"url": server.url("file"), "format": kind, "to": "toy/file"}))
    assert (data / "toy/file").read_bytes() == content


def test_archives_are_unpacked_in_their_folder(server, data) -> None:
    server.content["zip"] = zipped({"inner/a.txt": b"a", "inner/deep/b.txt": b"b", "README": b"no"})
    server.content["tar"] = tarred((tarfile.TarInfo("c.txt"), b"c"))
    wanted = asset(
        ["toy/a.txt", "toy/c.txt"],
        {"url": server.url("zip"), "format": "zip", "into": "toy", "folder": "inner"},
        {"url": server.url("tar"), "format": "tar.gz", "into": "toy"},
    )
    download.download(wanted)
    assert left_over(data) == {"toy/a.txt", "toy/deep/b.txt", "toy/c.txt", "fetched.json"}


@pytest.mark.parametrize(
    "name", ["../outside.txt", "/outside.txt", "inner/../../outside.txt", "..\\outside.txt", "C:\\outside.txt"]
)
def test_a_zip_that_climbs_out_of_its_folder_is_refused_whole(server, data, name) -> None:
    server.content["zip"] = zipped({"good.txt": b"good", name: b"bad"})
    with pytest.raises(InputError, match="would land outside its folder"):
        download.download(asset(["toy/good.txt"], {"url": server.url("zip"), "format": "zip", "into": "toy"}))
    assert not any(data.parent.rglob("*outside*"))
    assert not (data / "toy").exists()


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
@pytest.mark.parametrize("target", ["/etc/passwd", "../../outside"])
def test_a_tar_with_a_link_out_is_refused_whole(server, data, kind, target) -> None:
    link = tarfile.TarInfo("link")
    link.type, link.linkname = kind, target
    server.content["tar"] = tarred((tarfile.TarInfo("good.txt"), b"good"), (link, b""))
    with pytest.raises(InputError, match="refused, since"):
        download.download(asset(["toy/good.txt"], {"url": server.url("tar"), "format": "tar.gz", "into": "toy"}))
    assert not (data / "toy").exists()


def test_an_archive_without_its_folder_gets_a_sentence(server, data) -> None:
    server.content["zip"] = zipped({"a.txt": b"a"})
    with pytest.raises(InputError, match="the archive has no folder 'inner'"):
        download.download(
            asset(["toy/a.txt"], {"url": server.url("zip"), "format": "zip", "into": "toy", "folder": "inner"})
        )


def test_a_damaged_archive_is_not_kept_and_the_next_call_fetches_it_anew(server, data) -> None:
    whole = zipped({"a.txt": b"a" * 1000})
    server.content["zip"] = whole.replace(b"a" * 1000, b"b" * 1000)  # its checksum inside no longer fits
    wanted = asset(["toy/a.txt"], {"url": server.url("zip"), "format": "zip", "into": "toy"})
    with pytest.raises(InputError, match="the archive is damaged"):
        download.download(wanted)
    assert left_over(data) == set()
    server.content["zip"] = whole
    download.download(wanted)
    assert (data / "toy/a.txt").read_bytes() == b"a" * 1000


def before_the_beginning() -> bytes:
    """A zip whose only member would stand before the file's first byte."""
    content = bytearray(zipped({"a.txt": b"a"}))
    place = content.rindex(b"PK\5\6") + 16  # of the number that says where the list of members is
    struct.pack_into("<I", content, place, struct.unpack_from("<I", content, place)[0] + 1)
    return bytes(content)


def less_than_nothing() -> bytes:
    """A tar whose only member has -1 bytes."""
    header = bytearray(tarfile.TarInfo("a.txt").tobuf())
    header[124:136] = b"\xff" * 12
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return gzip.compress(header + bytes(1024))


@pytest.mark.parametrize(
    ("kind", "content", "reason"),
    [
        ("zip", before_the_beginning, "Invalid argument"),
        ("tar.gz", less_than_nothing, "'a.txt' has a negative size|invalid offset"),  # newer Pythons look themselves
    ],
)
def test_an_archive_with_impossible_numbers_gets_a_sentence(tmp_path, kind, content, reason) -> None:
    (tmp_path / "archive").write_bytes(content())
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match=rf"the archive is damaged \(({reason})\); run again"):
        archives.unpack(tmp_path / "archive", kind, tmp_path / "folder")


def test_a_server_that_names_no_version_is_asked_for_the_whole_file_again(server, data) -> None:
    server.version, server.cut, server.cuts = "", 2_000_000, 1
    wanted = text(server)
    with pytest.raises(InputError):
        download.download(wanted)
    download.download(wanted)
    assert server.requests == [None, None]
    assert (data / "toy/text.txt").read_bytes() == TEXT


def test_a_missing_file_on_the_server_gets_a_sentence(server, data) -> None:
    with pytest.raises(InputError, match=r"/nothing answers 404 Not Found; see https://example.org"):
        download.download(asset(["toy/x"], {"url": server.url("nothing"), "format": "text", "to": "toy/x"}))


def test_a_server_that_is_not_there_gets_a_sentence(server, data) -> None:
    server.shutdown()
    server.server_close()
    with pytest.raises(download.UnreachableError, match="run again when the network is back"):
        download.download(text(server))


def test_only_https_is_fetched_from_elsewhere(data) -> None:
    with pytest.raises(InputError, match="is not https"):
        download.download(asset(["toy/x"], {"url": "http://example.org/x", "format": "text", "to": "toy/x"}))


@pytest.mark.parametrize("access", ["gated", "manual"])
def test_what_is_not_free_says_how_to_get_it(access) -> None:
    with pytest.raises(InputError, match=rf"cannot be fetched \({access}\); to get it: ask for it"):
        download.download(asset(["toy/x"], access=access))


def test_a_full_disk_gets_a_sentence_and_keeps_what_is_there(server, data, monkeypatch) -> None:
    def full(*arguments) -> None:
        raise OSError(28, "No space left on device")

    wanted = text(server)
    monkeypatch.setattr(download, "_move", full)
    with pytest.raises(InputError, match=r"cannot be written .*No space left on device.*run again"):
        download.download(wanted)
    assert not (data / "toy").exists()


def test_two_fetches_at_once_download_once(server, data, tmp_path) -> None:
    server.content["text"] = TEXT
    program = (
        "import sys, pathlib; from lib import catalog; from lib.catalog import download; "
        "from lib.run import paths; paths.DATA = pathlib.Path(sys.argv[1]); "
        "from tests.unit.test_download import asset; "
        "download.download(asset(['toy/t'], {'url': sys.argv[2], 'format': 'text', 'to': 'toy/t'}))"
    )
    command = [sys.executable, "-c", program, str(data), server.url("text")]
    running = [subprocess.Popen(command, cwd=paths.ROOT) for _ in range(2)]
    assert [process.wait() for process in running] == [0, 0]
    assert len(server.requests) == 1
    assert (data / "toy/t").read_bytes() == TEXT
