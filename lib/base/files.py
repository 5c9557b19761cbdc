"""Reading files that others made, and writing a file or folder whole or not at all."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

from lib.base.errors import InputError


def sha256(file: Path) -> str:
    """Hexadecimal SHA-256 of a file.

    It is computed once as long as its size and modification time stay the same. Raises
    InputError for a file that cannot be read.
    """
    try:
        status = file.stat()
        return _sha256(file, status.st_size, status.st_mtime_ns)
    except OSError as error:
        raise InputError(
            f"{file}: cannot be read ({error.strerror}); give a file"
        ) from error


@lru_cache(maxsize=256)
def _sha256(file: Path, size: int, changed: int) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def is_web_page(file: Path) -> bool:
    """Whether a file is a web page, downloaded in place of the intended file."""
    with file.open("rb") as stream:
        return begins_web_page(stream.read(512))


def begins_web_page(start: bytes) -> bool:
    """Whether these are the first bytes of a web page."""
    return (
        start.lstrip(b"\xef\xbb\xbf \t\r\n")
        .lower()
        .startswith((b"<!doctype", b"<html", b"<head", b"<?xml"))
    )


def read_json(file: Path) -> dict[str, Any]:
    """The object in a JSON file; InputError if there is none."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(f"{file}: cannot be read ({reason})") from error
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{file}: not JSON (perhaps a saved web page); get the file again"
        ) from error
    if not isinstance(content, dict):
        raise InputError(
            f"{file}: contains a {type(content).__name__}; give a JSON object"
        )
    return content


# -- writing ---------------------------------------------------------------------------


DISK_REMEDY = "make room there, or make it writable, and run again"


@contextmanager
def writing(place: Path, remedy: str = DISK_REMEDY) -> Iterator[None]:
    """Turn system errors while writing below `place` into InputError with a remedy."""
    try:
        yield
    except OSError as error:
        reason = (
            error.args[0][0][-1]
            if isinstance(error, shutil.Error)
            else error.strerror or error
        )
        raise InputError(f"{place}: cannot be written ({reason}); {remedy}") from error


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A stream whose bytes appear in the file only once all of them are written.

    Until then they are in a hidden file beside it. Raises InputError if the system
    refuses to write it.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.partial")
    with writing(path):
        try:
            with open(temporary, "wb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):  # which would take the place of the first error
                temporary.unlink(missing_ok=True)
            raise


def move(source: Path, target: Path) -> None:
    """Move a file, which then replaces `target`.

    It is renamed, or copied if `target` is on another file system. The copy is made
    beside `target`, so that `target` is always a whole file. Raises InputError if the
    system refuses to write it; `source` is then still there.
    """
    with writing(target):
        try:
            os.replace(source, target)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            with replacing(target) as stream, source.open("rb") as content:
                shutil.copyfileobj(content, stream)
            source.unlink()


@contextmanager
def replacing_folder(folder: Path) -> Iterator[Path]:
    """An empty folder that takes the place of another, or of none, once it is filled.

    If it is never filled, the folders above it that were made for it are removed again.
    The caller must hold a lock against others that write the same folder.
    """
    new = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(new, ignore_errors=True)
    made = [parent for parent in new.parents if not parent.exists()]
    new.mkdir(parents=True)
    try:
        yield new
        if folder.exists():
            shutil.rmtree(folder)
        new.rename(folder)
    finally:
        shutil.rmtree(new, ignore_errors=True)
        with suppress(OSError):  # a folder with something in it
            for parent in made:
                parent.rmdir()
