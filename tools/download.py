"""Downloads: resumed, checked, unpacked inside their folder, never half there.

What is fetched waits in ``data/.fetch`` until it is whole and checked, and is then
moved to its place.
"""

from __future__ import annotations

import gzip
import lzma
import os
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

import pooch
import requests
from requests.adapters import HTTPAdapter

from lib.base import cache, files, paths, progress
from lib.base.errors import InputError, one_line
from lib.catalog import Asset

CHUNK = 1 << 20
SECONDS = 30  # without an answer
SECONDS_FOR_SIZE = 5  # without an answer to the question how large a file is
LARGEST = 20e9  # bytes of a file whose size the catalog does not know
# How much larger unpacked: text is packed to a tenth, a bomb to a thousandth.
MOST_TIMES = 100
ALLOWED = ("https://",)  # how an address begins, that of a redirect too
FIRST_BYTES = {
    "zip": b"PK\x03\x04",
    "tar.gz": b"\x1f\x8b",
    "hdf5": b"\x89HDF\r\n\x1a\n",
    "json": (b"{", b"["),
    "torch": (b"PK", b"\x80\x02"),
}
# What reading a damaged or encrypted archive raises.
DAMAGED = (
    zipfile.BadZipFile,
    tarfile.TarError,
    gzip.BadGzipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    RuntimeError,
)


class UnreachableError(InputError):
    """The server could not be reached, or hung up."""


def size(asset: Asset) -> int | None:
    """Bytes to fetch for an asset; None if neither catalog nor servers say.

    The servers are asked only for sizes that the catalog does not know.

    Raises UnreachableError if a server cannot be reached.
    """
    if asset.size:
        return asset.size
    sizes = [
        source.get("size") or _announced(asset, source["url"])
        for source in asset.downloads
    ]
    return sum(sizes) if all(sizes) else None


def _announced(asset: Asset, url: str) -> int:
    """The size of a file as its server announces it; 0 if it does not."""
    headers = {"Accept-Encoding": "identity"}
    try:
        with _session() as session:
            answer = session.head(
                url, headers=headers, allow_redirects=True, timeout=SECONDS_FOR_SIZE
            )
            return int(answer.headers.get("Content-Length", 0)) if answer.ok else 0
    except (requests.ConnectionError, requests.Timeout) as error:
        raise UnreachableError(
            f"{asset.id}: {urlsplit(url).hostname} cannot be reached"
        ) from error
    except requests.RequestException:
        return 0


def download(asset: Asset) -> None:
    """Download what an asset needs and put it in ``data/``.

    After an interruption, the next call goes on from where this one stopped.

    Raises
    ------
    InputError
        The asset is not free, the server cannot be reached, what it sends is not what
        it should be, or the disk is full.
    """
    if asset.access != "free":
        raise InputError(
            f"{asset.title} cannot be fetched ({asset.access}); "
            f"to get it: {asset.how_to_get}"
        )
    pooch.get_logger().setLevel("WARNING")
    folder = paths.DATA / ".fetch" / asset.id
    try:
        with cache.locked(folder.with_name(f"{asset.id}.lock"), f"fetching {asset.id}"):
            for number, source in enumerate(asset.downloads):
                if not _is_there(asset, source):
                    _fetch(asset, source, folder / str(number))
            shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:
        problem = f"{paths.DATA}: cannot be written ({error.strerror})"
        raise InputError(f"{problem}; make room there and run again") from error


def _is_there(asset: Asset, source: dict[str, Any]) -> bool:
    """Whether the file, or each file of an archive that we need, is in its place."""
    named = (
        [source["to"]] if "to" in source else [entry["path"] for entry in asset.files]
    )
    return all((paths.DATA / path).exists() for path in named)


def _fetch(asset: Asset, source: dict[str, Any], folder: Path) -> None:
    """Fetch one file and put it, or what it holds, in its place.

    A file that is not what it should be is deleted.
    """
    url = source["url"]
    # A file without a known hash may have grown since its size was recorded.
    limit = 2 * source["size"] if "size" in source else LARGEST
    downloader = partial(
        _resume, part=folder / "part", label=f"fetch {asset.id}", limit=limit
    )
    try:
        whole = Path(
            pooch.retrieve(
                url, source.get("sha256"), "whole", folder, downloader=downloader
            )
        )
        _check_format(whole, source["format"])
        for file, target in _targets(asset, source, whole).items():
            target.parent.mkdir(parents=True, exist_ok=True)
            files.move(file, target)
    except requests.exceptions.InvalidSchema as error:
        raise InputError(
            f"{asset.id}: {url} is not https, or redirects to http; see {asset.page}"
        ) from error
    except (
        requests.ConnectionError,
        requests.Timeout,
        requests.exceptions.ChunkedEncodingError,
    ) as error:
        problem = f"{urlsplit(url).hostname} cannot be reached ({type(error).__name__})"
        raise UnreachableError(
            f"{asset.id}: {problem}; run again when the network is back"
        ) from error
    except requests.RequestException as error:
        raise InputError(
            f"{asset.id}: cannot be fetched ({error}); see {asset.page}"
        ) from error
    except InputError:
        raise
    except (ValueError, *DAMAGED) as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise InputError(
            f"{asset.id}: {url} is not the expected file ({one_line(error)}); "
            f"see {asset.page}"
        ) from error


def _resume(
    url: str, output: str, _: None, part: Path, label: str, limit: float
) -> None:
    """Fetch a file, or the rest of a partial one: a downloader for pooch."""
    # The version, as the server calls it, of which there are bytes.
    tag = part.with_suffix(".tag")
    version = tag.read_text() if tag.exists() and part.exists() else ""
    # If the answer were compressed, its rest would not be the rest of the file.
    headers = {"Accept-Encoding": "identity"}
    if version:
        # One byte is asked for again, since a server refuses to send nothing.
        os.truncate(part, max(0, part.stat().st_size - 1))
        headers |= {"Range": f"bytes={part.stat().st_size}-", "If-Range": version}
    with (
        _session() as session,
        session.get(url, headers=headers, stream=True, timeout=SECONDS) as response,
    ):
        response.raise_for_status()
        if response.status_code != requests.codes.partial_content:
            part.unlink(missing_ok=True)
            tag.write_text(response.headers.get("ETag", ""))
        with part.open("ab") as stream:
            total = stream.tell() + int(response.headers.get("Content-Length", 0))
            with progress.bar(total, label, "bytes", stream.tell()) as bar:
                for chunk in response.iter_content(CHUNK):
                    stream.write(chunk)
                    bar.update(len(chunk))
                    if stream.tell() > limit:
                        raise ValueError(f"longer than {limit:,.0f} bytes")
    os.replace(part, output)


def _session() -> requests.Session:
    """A session that can speak nothing but https, wherever a redirect leads."""
    session = requests.Session()
    session.adapters.clear()
    for beginning in ALLOWED:
        session.mount(beginning, HTTPAdapter())
    return session


def _check_format(file: Path, kind: str) -> None:
    """Raise ValueError for a file that does not begin as its kind does.

    Most often, such a file is a web page.
    """
    with file.open("rb") as stream:
        start = stream.read(512)
    if (
        not start
        or files.begins_web_page(start)
        or not start.startswith(FIRST_BYTES.get(kind, b""))
    ):
        raise ValueError(f"no {kind} file, it begins with {start[:16]!r}")


def _targets(asset: Asset, source: dict[str, Any], whole: Path) -> dict[Path, Path]:
    """Where the file, or each file of the archive, belongs.

    Those that the catalog names come last, so that the others are there before them.
    """
    if "to" in source:
        return {whole: paths.DATA / source["to"]}
    unpacked = whole.with_name("unpacked")
    shutil.rmtree(unpacked, ignore_errors=True)
    unpack(whole, unpacked)
    root = unpacked / source.get("folder", "")
    into = paths.DATA / source["into"]
    targets = {
        file: into / file.relative_to(root)
        for file in root.rglob("*")
        if file.is_file()
    }
    named = {paths.DATA / entry["path"] for entry in asset.files}
    if missing := named - set(targets.values()):
        raise ValueError(f"it lacks {min(missing).name}")
    return dict(sorted(targets.items(), key=lambda item: item[1] in named))


# -- archives --------------------------------------------------------------------------


def unpack(archive: Path, folder: Path) -> None:
    """Unpack the plain files of a zip or tar archive below a folder.

    Links and devices are skipped.

    Raises ValueError if a file would land outside the folder, or if the files have more
    than `MOST_TIMES` the archive's size; an error of `zipfile`, `tarfile` or `zlib` if
    the archive is damaged.
    """
    folder = folder.resolve()
    left = MOST_TIMES * archive.stat().st_size
    for name, size, stream in _members(archive):
        target = (folder / name).resolve()
        if not target.is_relative_to(folder):
            raise ValueError(f"{name!r} would land outside its folder")
        left -= size
        if left < 0:
            raise ValueError(f"it would grow to more than {MOST_TIMES} times its size")
        target.parent.mkdir(parents=True, exist_ok=True)
        with stream, target.open("wb") as output:
            shutil.copyfileobj(stream, output, CHUNK)


def _members(archive: Path) -> Iterator[tuple[str, int, IO[bytes]]]:
    """Name, size and content of each plain file."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as content:
            for info in content.infolist():
                if not info.is_dir():
                    yield info.filename, info.file_size, content.open(info)
    else:
        with tarfile.open(archive) as content:
            for info in content:
                if info.isreg():
                    yield info.name, info.size, content.extractfile(info)
