"""Downloading an asset: resumed, checked, unpacked inside its folder, never half there.

What is fetched waits in ``data/.fetch`` until it is whole and checked. A download without a known sha256 is checked
by its format; its hash is then recorded in ``data/fetched.json`` and held from then on.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

import pooch
import requests
from filelock import FileLock

from lib import files, paths, progress
from lib.asset import Asset
from lib.errors import InputError

CHUNK = 1 << 20
SECONDS = 30  # without an answer
LOOPBACK = {"127.0.0.1", "localhost", "::1"}


class UnreachableError(InputError):
    """The server could not be reached at all."""


def download(asset: Asset) -> None:
    """Download what an asset needs and put it in ``data/``.

    Raises InputError with one sentence if the asset is not free, the server cannot be reached, the file is not what
    it should be, an archive reaches out of its folder, or the disk is full. What was downloaded of an interrupted
    file is kept, and the next call goes on from there.
    """
    if asset.access != "free":
        raise InputError(f"{asset.title} cannot be fetched ({asset.access}); to get it: {asset.how_to_get}")
    pooch.get_logger().setLevel("WARNING")  # its messages are ours to give
    waiting = paths.DATA / ".fetch"
    waiting.mkdir(parents=True, exist_ok=True)
    with FileLock(waiting / f"{asset.id}.lock"):
        for source in asset.downloads:
            if not _is_there(asset, source):
                _fetch_one(asset, source, waiting)


def _is_there(asset: Asset, source: dict[str, Any]) -> bool:
    """Whether another run has put the file, or all files of the archive, in place meanwhile."""
    wanted = [source["to"]] if "to" in source else [entry["path"] for entry in asset.files]
    return all((paths.DATA / path).exists() for path in wanted)


def _fetch_one(asset: Asset, source: dict[str, Any], waiting: Path) -> None:
    url = source["url"]
    parts = urlsplit(url)
    if parts.scheme != "https" and parts.hostname not in LOOPBACK:
        raise InputError(f"{asset.id}: {url} is not https; correct its address in lib/catalog.toml")
    name = hashlib.sha256(url.encode()).hexdigest()[:16]
    try:
        whole = Path(
            pooch.retrieve(
                url,
                known_hash=None,
                fname=f"{name}.whole",
                path=waiting,
                downloader=_Resuming(waiting / f"{name}.part", asset.id),
            )
        )
        _use(whole, source, asset, waiting)
    except OSError as error:
        if isinstance(error, requests.HTTPError):
            answer = f"{error.response.status_code} {error.response.reason}"
            raise InputError(f"{asset.id}: {url} answers {answer}; see {asset.page}") from error
        if isinstance(error, requests.RequestException):
            reason = re.sub(r"(Error|Exception)$", "", type(error).__name__)
            raise UnreachableError(
                f"{asset.id}: {parts.hostname} cannot be reached ({reason}): run again when the network is back"
            ) from error
        raise InputError(
            f"{asset.id}: cannot be written to {paths.DATA} ({error.strerror}); what was fetched is kept, run again"
        ) from error


def _use(whole: Path, source: dict[str, Any], asset: Asset, waiting: Path) -> None:
    """Check what was fetched, put it in place and record its hash; what is not good is deleted, to be fetched anew."""
    try:
        digest = _check(whole, source)
        _put_in_place(whole, source, asset, waiting)
    except InputError as error:
        whole.unlink()
        raise InputError(f"{asset.id}: {error}") from error
    whole.unlink(missing_ok=True)
    if "sha256" not in source:
        _record(source["url"], digest)


class _Resuming:
    """A downloader for pooch that goes on where an interrupted download of the same address stopped."""

    def __init__(self, part: Path, label: str) -> None:
        self.part, self.label = part, label
        self.tag = part.with_suffix(".tag")  # what the server called the version that is half there

    def __call__(self, url: str, output_file: str, pooch_object: Any) -> None:
        have = self.part.stat().st_size if self.part.exists() and self.tag.exists() else 0
        # Compressed on the way, a part of the answer would be no part of the file.
        headers = {"Accept-Encoding": "identity"}
        if have:
            headers |= {"Range": f"bytes={have}-", "If-Range": self.tag.read_text()}
        with requests.get(url, headers=headers, stream=True, timeout=SECONDS) as response:
            response.raise_for_status()
            if response.status_code != requests.codes.partial_content:
                have = 0
            self._remember(response.headers.get("ETag") or response.headers.get("Last-Modified"))
            length = int(response.headers.get("Content-Length", 0)) + have
            self._write(response, have, length)
        os.replace(self.part, output_file)
        self.tag.unlink(missing_ok=True)

    def _remember(self, version: str | None) -> None:
        """Without a name for the version, a later answer could not be told to be its rest."""
        self.tag.unlink(missing_ok=True)
        if version:
            self.tag.write_text(version)

    def _write(self, response: requests.Response, have: int, length: int) -> None:
        written = have
        label = f"fetch {self.label}"
        with self.part.open("r+b" if have else "wb") as stream, progress.bar(length, label, "bytes", have) as bar:
            stream.seek(have)
            for chunk in response.iter_content(CHUNK):
                stream.write(chunk)
                written += len(chunk)
                bar.update(len(chunk))
        if written < length:
            raise requests.ConnectionError("the connection was closed early")


# -- checking -----------------------------------------------------------------------------------


def _check(file: Path, source: dict[str, Any]) -> str:
    """The sha256 of a file; InputError unless it is what the catalog or an earlier success says it is."""
    _refuse_web_page(file, source["url"])
    expected = source.get("sha256") or _recorded().get(source["url"])
    actual = files.sha256(file)
    if not expected:
        _check_format(file, source)
    elif actual != expected:
        whose = "the catalog" if "sha256" in source else "an earlier download"
        raise InputError(f"{source['url']}: its sha256 is {actual}, and {whose} has {expected}; it was not kept")
    return actual


def _refuse_web_page(file: Path, url: str) -> None:
    if files.is_web_page(file):
        raise InputError(f"{url} gave a web page in place of the file; open it in a browser to see what it wants")


_MAGIC = {
    "zip": b"PK\x03\x04",
    "tar.gz": b"\x1f\x8b",
    "hdf5": b"\x89HDF\r\n\x1a\n",
}


def _check_format(file: Path, source: dict[str, Any]) -> None:
    kind = source["format"]
    checks: dict[str, Callable[[Path], bool]] = {
        "zip": zipfile.is_zipfile,
        "tar.gz": tarfile.is_tarfile,
        "json": _is_json,
        "text": _is_text,
        "torch": _is_torch,
        "safetensors": _is_safetensors,
    }
    with file.open("rb") as stream:
        head = stream.read(16)
    if not head.startswith(_MAGIC.get(kind, b"")) or not checks.get(kind, lambda _: True)(file):
        raise InputError(f"{source['url']} is no {kind} file (it begins with {head!r}); it was not kept")


def _is_json(file: Path) -> bool:
    try:
        json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        return False
    return True


def _is_text(file: Path) -> bool:
    with file.open("rb") as stream:
        head = stream.read(CHUNK)
    return bool(head) and b"\0" not in head


def _is_torch(file: Path) -> bool:
    """A zip archive, or the pickle of protocol 2 that torch once wrote; it is read with weights_only alone."""
    with file.open("rb") as stream:
        return stream.read(2) in (b"PK", b"\x80\x02")


def _is_safetensors(file: Path) -> bool:
    with file.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        return length < file.stat().st_size and stream.read(1) == b"{"


def _recorded() -> dict[str, str]:
    """Address -> sha256 of what was fetched before without a known hash."""
    record = paths.DATA / "fetched.json"
    return json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}


def _record(url: str, digest: str) -> None:
    record = paths.DATA / "fetched.json"
    with FileLock(paths.DATA / ".fetch" / "fetched.lock"):
        content = json.dumps(_recorded() | {url: digest}, indent=1, sort_keys=True)
        temporary = record.with_suffix(".tmp")
        temporary.write_text(content + "\n", encoding="utf-8")
        os.replace(temporary, record)


# -- putting in place ---------------------------------------------------------------------------


def _put_in_place(whole: Path, source: dict[str, Any], asset: Asset, waiting: Path) -> None:
    if "to" in source:
        _move(whole, paths.DATA / source["to"])
        return
    unpacked = waiting / f"{asset.id}.unpacked"
    shutil.rmtree(unpacked, ignore_errors=True)
    unpacked.mkdir()
    try:
        _unpack(whole, unpacked, source)
        root = unpacked / source.get("folder", "")
        if not root.is_dir():
            raise InputError(f"the archive has no folder {source['folder']!r}; it was not unpacked")
        for file in sorted(path for path in root.rglob("*") if path.is_file()):
            _move(file, paths.DATA / source["into"] / file.relative_to(root))
    finally:
        shutil.rmtree(unpacked, ignore_errors=True)


def _move(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    os.replace(source, target)


def _unpack(archive: Path, folder: Path, source: dict[str, Any]) -> None:
    """Unpack below `folder`; an archive with a member that would land elsewhere is refused whole."""
    try:
        if source["format"] == "zip":
            with zipfile.ZipFile(archive) as content:
                for name in content.namelist():
                    _refuse_outside(name, source["url"])
                content.extractall(folder)
        else:
            with tarfile.open(archive) as content:
                content.extractall(folder, filter="data")
    except (zipfile.BadZipFile, EOFError, tarfile.ReadError) as error:
        raise InputError(f"{source['url']}: the archive is damaged ({error}); run again") from error
    except tarfile.FilterError as error:
        raise InputError(f"{source['url']}: refused, since {error}") from error


def _refuse_outside(name: str, url: str) -> None:
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or re.match(r"[A-Za-z]:", name):
        raise InputError(f"{url}: refused, since its member {name!r} would land outside its folder")
