"""Unpacking archives from elsewhere: plain files below a folder, and not more than a good archive holds."""

from __future__ import annotations

import errno
import gzip
import re
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from lib.run.errors import InputError

CHUNK = 1 << 20
MOST_TIMES = 100  # the bytes of an archive: text is packed to a third or a tenth of its size, a bomb to a thousandth
MOST_MEMBERS = 100_000
DAMAGED = (zipfile.BadZipFile, tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, RuntimeError, ValueError)
AT_ODDS = (FileExistsError, NotADirectoryError, IsADirectoryError)  # in a folder that was empty: a name used twice


class Member(NamedTuple):
    """A file or folder in an archive; `problem` says why it cannot be taken, if it cannot."""

    name: str
    size: int
    is_folder: bool
    open: Callable[[], IO[bytes] | None]
    problem: str = ""


def unpack(archive: Path, kind: str, folder: Path) -> None:
    """Unpack a ``zip`` or ``tar.gz`` into a folder that is there and empty.

    Raises InputError, whatever the archive holds, if a member would land outside the folder, is a link or a device, or
    if the archive is damaged, encrypted, or packs more than it could in good faith. The folder is then to be deleted.
    """
    left = MOST_TIMES * archive.stat().st_size
    try:
        with _opened(archive, kind) as members:
            for count, member in enumerate(members):
                left -= member.size
                if left < 0 or count == MOST_MEMBERS:
                    raise InputError(f"refused, since it would grow to {MOST_TIMES} times its size or more")
                _put(member, folder)
    except InputError:
        raise
    except AT_ODDS as error:
        raise InputError(f"the archive is damaged ({Path(error.filename).name!r} stands there twice)") from error
    except DAMAGED as error:
        raise InputError(f"the archive is damaged ({error}); run again") from error
    except OSError as error:
        if error.errno != errno.EINVAL:  # which is what a place before the beginning of the file gives
            raise
        raise InputError(f"the archive is damaged ({error.strerror}); run again") from error


@contextmanager
def _opened(archive: Path, kind: str) -> Iterator[Iterator[Member]]:
    if kind == "zip":
        with zipfile.ZipFile(archive) as content:
            yield (_of_zip(content, info) for info in content.infolist())
    else:
        with _Gzip(archive) as stream, tarfile.open(fileobj=stream, mode="r:") as content:
            yield (_of_tar(content, info) for info in content)


def _of_zip(content: zipfile.ZipFile, info: zipfile.ZipInfo) -> Member:
    problem = "is a link" if stat.S_ISLNK(info.external_attr >> 16) else ""
    return Member(info.filename, info.file_size, info.is_dir(), partial(content.open, info), problem)


def _of_tar(content: tarfile.TarFile, info: tarfile.TarInfo) -> Member:
    problem = "" if info.isreg() or info.isdir() else "is a link or a device"
    if info.size < 0:
        raise tarfile.ReadError(f"{info.name!r} has a negative size")
    return Member(info.name, info.size, info.isdir(), partial(content.extractfile, info), problem)


class _Gzip(gzip.GzipFile):
    """Refuses headers without end, which `tarfile` would read into memory."""

    def read(self, size: int | None = -1) -> bytes:
        if size is None or not 0 <= size <= CHUNK:
            raise tarfile.ReadError(f"it has a header of {size} bytes")
        return super().read(size)


def _put(member: Member, folder: Path) -> None:
    path = PurePosixPath(member.name.replace("\\", "/"))
    outside = path.is_absolute() or ".." in path.parts or re.match(r"[A-Za-z]:", member.name)
    if problem := "would land outside its folder" if outside else member.problem:
        raise InputError(f"refused, since its member {member.name!r} {problem}")
    target = folder / member.name
    if member.is_folder:
        target.mkdir(parents=True, exist_ok=True)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with member.open() as source, target.open("xb") as stream:
        shutil.copyfileobj(source, stream, CHUNK)
