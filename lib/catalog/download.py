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
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import pooch
import requests

from lib.catalog import archives
from lib.catalog.asset import Asset
from lib.run import files, locks, paths, progress
from lib.run.errors import InputError

CHUNK = 1 << 20
SECONDS = 30  # without an answer
LOOPBACK = {"127.0.0.1", "localhost", "::1"}
WHOLE = "whole"  # what was fetched, under this name until all of it is where it belongs
LARGEST = 20e9  # bytes of a file whose size the catalog does not know


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
    for source in asset.downloads:
        place = _place(source)
        with files.writing(paths.DATA), locks.held(place.with_suffix(".lock"), f"fetching {asset.id}"):
            if not _is_there(asset, source) or (place / WHOLE).exists():
                _fetch_one(asset, source, place)
            shutil.rmtree(place, ignore_errors=True)


def is_unfinished(asset: Asset) -> bool:
    """Whether a download of it was killed: perhaps after the files that the catalog names, but not all, were there."""
    return any(_place(source).exists() for source in asset.downloads)


def _place(source: dict[str, Any]) -> Path:
    """The folder of what is half there, named after its address, which assets may share."""
    return paths.DATA / ".fetch" / hashlib.sha256(source["url"].encode()).hexdigest()[:16]


def _is_there(asset: Asset, source: dict[str, Any]) -> bool:
    """Whether another run has put the file, or all files of the archive, in place meanwhile."""
    wanted = [source["to"]] if "to" in source else [entry["path"] for entry in asset.files]
    return all((paths.DATA / path).exists() for path in wanted)


def _fetch_one(asset: Asset, source: dict[str, Any], place: Path) -> None:
    """Fetch a file to the folder `place` and put it where it belongs."""
    url = source["url"]
    if not _is_safe(url):
        raise InputError(f"{asset.id}: {url} is not https; correct its address in lib/catalog/catalog.toml")
    _recorded()  # if it cannot be read, nothing is fetched in vain
    # Twice the size that was seen: a file without a known sha256 may have grown since.
    limit = 2 * source.get("size", LARGEST / 2)
    try:
        whole = Path(
            pooch.retrieve(
                url,
                known_hash=None,
                fname=WHOLE,
                path=place,
                downloader=_Resuming(place / "part", asset.id, limit),
            )
        )
        _use(whole, source, asset, place / "unpacked")
    except OSError as error:
        if isinstance(error, requests.HTTPError):
            answer = f"{error.response.status_code} {error.response.reason}"
            raise InputError(f"{asset.id}: {url} answers {answer}; see {asset.page}") from error
        if isinstance(error, requests.RequestException):
            reason = re.sub(r"(Error|Exception)$", "", type(error).__name__)
            raise UnreachableError(
                f"{asset.id}: {urlsplit(url).hostname} cannot be reached ({reason}): run again when the network is back"
            ) from error
        raise InputError(
            f"{asset.id}: cannot be written to {paths.DATA} ({error.strerror}); what was fetched is kept, run again"
        ) from error


def _use(whole: Path, source: dict[str, Any], asset: Asset, unpacked: Path) -> None:
    """Check what was fetched, record its hash and put it in place; what is not good is deleted, to be fetched anew.

    Until all of that is done it stays: after a kill, the next call goes through it again.
    """
    try:
        digest = _check(whole, source)
        if "to" not in source:
            _unpack(whole, unpacked, source)
    except BaseException as error:
        shutil.rmtree(unpacked, ignore_errors=True)
        if not isinstance(error, InputError):
            raise
        whole.unlink()
        raise InputError(f"{asset.id}: {error}") from error
    if "sha256" not in source:
        _record(source["url"], digest)
    _put_in_place(whole, source, asset, unpacked)
    whole.unlink(missing_ok=True)


def _is_safe(url: str, before: str = "") -> bool:
    """Whether an address is https; or on this machine, if so was the one `before` that leads to it."""
    parts = urlsplit(url)
    return parts.scheme == "https" or (
        parts.scheme == "http" and parts.hostname in LOOPBACK and urlsplit(before or url).hostname in LOOPBACK
    )


def _refuse_unsafe(response: requests.Response, **options: Any) -> None:
    """Refuse to be led from https to anything else, before that is asked."""
    target = urljoin(response.url, response.headers.get("Location", ""))
    if response.is_redirect and not _is_safe(target, response.url):
        raise InputError(f"{response.url} leads to {target}, which is not https; it was not followed")


class _Resuming:
    """A downloader for pooch that goes on where an interrupted download of the same address stopped."""

    def __init__(self, part: Path, label: str, limit: float) -> None:
        self.part, self.label, self.limit = part, label, limit
        self.tag = part.with_suffix(".tag")  # what the server called the version that is half there

    def __call__(self, url: str, output_file: str, pooch_object: Any) -> None:
        have = self.part.stat().st_size if self.part.exists() and self.tag.exists() else 0
        # Compressed on the way, a part of the answer would be no part of the file.
        headers = {"Accept-Encoding": "identity"}
        if have:
            headers |= {"Range": f"bytes={have}-", "If-Range": self.tag.read_text()}
        options = {"stream": True, "timeout": SECONDS, "hooks": {"response": _refuse_unsafe}}
        with requests.get(url, headers=headers, **options) as response:
            response.raise_for_status()
            if response.status_code != requests.codes.partial_content:
                have = 0
                self.part.unlink(missing_ok=True)  # before the version is named: these bytes are not of it
            self._remember(response.headers.get("ETag") or response.headers.get("Last-Modified"))
            length = _length(response) + have
            self._write(response, have, length)
        os.replace(self.part, output_file)
        self.tag.unlink(missing_ok=True)

    def _remember(self, version: str | None) -> None:
        """Without a name for the version, a later answer could not be told to be its rest."""
        self.tag.unlink(missing_ok=True)
        if version:
            with files.replacing(self.tag) as stream:
                stream.write(version.encode())

    def _write(self, response: requests.Response, have: int, length: int) -> None:
        written = have
        label = f"fetch {self.label}"
        with self.part.open("r+b" if have else "wb") as stream, progress.bar(length, label, "bytes", have) as bar:
            stream.seek(have)
            for chunk in response.iter_content(CHUNK):
                written += len(chunk)
                self._refuse_endless(written)
                stream.write(chunk)
                bar.update(len(chunk))
        if written < length:
            raise requests.ConnectionError("the connection was closed early")

    def _refuse_endless(self, written: int) -> None:
        if written > self.limit:
            self.part.unlink()
            self.tag.unlink(missing_ok=True)
            raise InputError(f"{self.label}: is longer than {self.limit:,.0f} bytes, not the file that is meant")


def _length(response: requests.Response) -> int:
    """Bytes that the server says it sends; 0 if it says nothing that is a number."""
    said = response.headers.get("Content-Length", "")
    return int(said) if re.fullmatch(r"[0-9]{1,18}", said) else 0


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
    try:
        held = files.read_json(record) if record.exists() else {}
    except InputError as error:
        raise InputError(f"{record}: is damaged; delete it, so that the next downloads are recorded anew") from error
    return held


def _record(url: str, digest: str) -> None:
    with (
        locks.held(paths.DATA / ".fetch" / "fetched.lock", "recording what it has fetched"),
        files.replacing(paths.DATA / "fetched.json") as stream,
    ):
        content = json.dumps(_recorded() | {url: digest}, indent=1, sort_keys=True)
        stream.write(f"{content}\n".encode())


# -- putting in place ---------------------------------------------------------------------------


def _put_in_place(whole: Path, source: dict[str, Any], asset: Asset, unpacked: Path) -> None:
    """The files that the catalog names come last: when they are there, so is all of an archive."""
    if "to" in source:
        _move(whole, paths.DATA / source["to"])
        return
    root, into = unpacked / source.get("folder", ""), paths.DATA / source["into"]
    targets = {into / file.relative_to(root): file for file in root.rglob("*") if file.is_file()}
    named = {paths.DATA / entry["path"] for entry in asset.files}
    for target in sorted(targets, key=lambda target: (target in named, target)):
        _move(targets[target], target)


def _move(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    os.replace(source, target)


def _unpack(archive: Path, unpacked: Path, source: dict[str, Any]) -> None:
    shutil.rmtree(unpacked, ignore_errors=True)
    unpacked.mkdir()
    try:
        archives.unpack(archive, source["format"], unpacked)
    except InputError as error:
        raise InputError(f"{source['url']}: {error}") from error
    if not (unpacked / source.get("folder", "")).is_dir():
        raise InputError(f"the archive has no folder {source['folder']!r}; it was not unpacked")
