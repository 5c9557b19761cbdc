"""Small files that claim or unpack to gigabytes; as a program, reads each in little memory and says what came."""

from __future__ import annotations

import gzip
import io
import json
import resource
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from lib.run import paths
from lib.run.errors import InputError
from tests.official.sent2vec import MATRIX, head_bytes
from tests.trust.weights import READERS

ROOM = 512 << 20  # bytes of memory beyond what the libraries take themselves
MEGABYTES = 600  # that a bomb unpacks to
HUGE = 10**12


def packed_variable(good: bytes, folder: Path) -> bytes:
    """A variable of MATLAB's, packed megabytes of zeros in the dimensions that it says."""
    numbers = MEGABYTES << 17
    start = struct.pack("<4I", 6, 8, 6, 0) + struct.pack("<2I2i", 5, 8, 1, numbers) + struct.pack("<HH4s", 1, 2, b"We")
    start += struct.pack("<2I", 9, 8 * numbers)
    packer = zlib.compressobj()
    packed = packer.compress(struct.pack("<2I", 14, len(start) + 8 * numbers) + start) + packer.flush(zlib.Z_FULL_FLUSH)
    packed += MEGABYTES * (packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH))
    return good[:128] + struct.pack("<2I", 15, len(packed)) + packed


def npy(good: bytes, folder: Path) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f4", "fortran_order": False, "shape": (7, HUGE)})
    return stream.getvalue()


def many_words(good: bytes, folder: Path) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    words = pa.DictionaryArray.from_arrays(pa.array(np.zeros(20_000_000, np.int8)), ["x" * 100])
    stream = io.BytesIO()
    parquet.write_table(pa.table({"index": words}), stream)
    return stream.getvalue()


def fasttext(place: int, number: int) -> Callable[[bytes, Path], bytes]:
    return lambda good, folder: good[:place] + struct.pack("<i", number) + good[place + 4 :]


def sent2vec(good: bytes, folder: Path) -> bytes:
    most = 2**31 - 1
    return head_bytes(dim=most, bucket=most) + MATRIX.pack(0, most + 7, most)


def of_json(**values: object) -> Callable[[bytes, Path], bytes]:
    return lambda good, folder: json.dumps(json.loads(good) | values).encode()


def long_tokens(good: bytes, folder: Path) -> bytes:
    options = json.loads(good)
    options["char_cnn"]["max_characters_per_token"] = HUGE
    return json.dumps(options).encode()


def empty_datasets(good: bytes, folder: Path) -> bytes:
    """Weights in shapes that the options ask for, of which nothing is in the file."""
    import h5py

    from lib.embedders.elmo_files import expected_shapes, read_options

    file = folder / "options.json"
    options = json.loads(file.read_text())
    options["char_cnn"]["embedding"]["dim"] = HUGE
    file.write_text(json.dumps(options))
    stream = io.BytesIO()
    with h5py.File(stream, "w") as weights:
        for name, shape in expected_shapes(read_options(file)):
            weights.create_dataset(name, shape, "f4", chunks=tuple(min(size, 16) for size in shape))
    return stream.getvalue()


def elsewhere(good: bytes, folder: Path) -> bytes:
    """Weights that are said to be in another file, which is no file."""
    import os

    import h5py

    os.mkfifo(folder / "pipe")
    (folder / "options.json").write_bytes(READERS["elmo options"].write(folder).read_bytes())
    with h5py.File(folder / "weights.hdf5", "r+") as weights:
        del weights["char_embed"]
        weights["char_embed"] = h5py.ExternalLink(str(folder / "pipe"), "char_embed")
    return (folder / "weights.hdf5").read_bytes()


def views(good: bytes, folder: Path) -> bytes:
    """Arrays of 10^12 numbers that are views of a single one."""
    import torch

    from tests.official.infersent import random_weights

    sizes = {"weight_ih": (4 * 10**6, 10**6), "weight_hh": (4 * 10**6, 10**6), "bias_": (4 * 10**6,)}
    state = {
        name: torch.zeros(1).expand(next(size for part, size in sizes.items() if part in name))
        for name in random_weights(1, 1)
    }
    stream = io.BytesIO()
    torch.save(state, stream)
    return stream.getvalue()


def zip_bomb(good: bytes, folder: Path) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(good)) as weights, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as bomb:
        for member in weights.infolist():
            bomb.writestr(member.filename, weights.read(member) + bytes(5 << 20))
    return stream.getvalue()


def safetensors(header: dict | bytes, content: bytes = b"") -> Callable[[bytes, Path], bytes]:
    data = header if isinstance(header, bytes) else json.dumps(header).encode()
    return lambda good, folder: len(data).to_bytes(8, "little") + data + content


def tensor(*offsets: int, shape: tuple[int, ...] = (1,)) -> dict[str, object]:
    return {"dtype": "F32", "shape": shape, "data_offsets": offsets}


GIANTS: dict[str, tuple[str, Callable[[bytes, Path], bytes]]] = {
    "word2vec, words": ("word2vec.bin", lambda good, folder: b"999999999999999 65536\na " + bytes(9)),
    "word2vec, zeros": ("google.bin.gz", lambda good, folder: MEGABYTES * gzip.compress(bytes(1 << 20))),
    "word2vec, one row": (
        "google.bin.gz",
        lambda good, folder: gzip.compress(b"9999999 1\na ") + MEGABYTES * gzip.compress(bytes(1 << 20)),
    ),
    "text, blank lines": (
        "glove.txt.gz", lambda good, folder: gzip.compress(b"a" + b" 1" * 60_000 + b"\n" * 5_000_000 + b"b"),
    ),
    "text, one line": (
        "glove.txt.gz", lambda good, folder: gzip.compress(b"a 1 ") + MEGABYTES * gzip.compress(b"1" * (1 << 20)),
    ),
    "fastText, words": ("fasttext.bin", fasttext(64, 2**31 - 1)),
    "fastText, buckets": ("fasttext.bin", fasttext(40, 2**31 - 1)),
    "fastText, dimensions": ("fasttext.bin", fasttext(8, 65_536)),
    "fastText, n-grams": ("fasttext.bin", fasttext(48, 2**31 - 1)),
    "npy, shape": ("matrix.npy", npy),
    "parquet, words": ("words.parquet", many_words),
    "Sent2Vec, matrix": ("sent2vec.bin", sent2vec),
    "ELMo, tokens": ("elmo options", long_tokens),
    "ELMo, datasets": ("elmo weights", empty_datasets),
    "ELMo, another file": ("elmo weights", elsewhere),
    "InferSent, views": ("infersent, zip", views),
    "InferSent, packed": ("infersent, zip", zip_bomb),
    "MATLAB, packed": ("urae words", packed_variable),
    "safetensors, header": ("bert weights", lambda good, folder: struct.pack("<Q", 2**62) + good[8:]),
    "safetensors, beyond the end": ("bert weights", safetensors({"a": tensor(0, 4 * HUGE, shape=(HUGE,))})),
    "safetensors, overlap": ("bert weights", safetensors({"a": tensor(0, 4), "b": tensor(2, 6)}, bytes(6))),
    "safetensors, backwards": ("bert weights", safetensors({"a": tensor(4, 0)}, bytes(4))),
    "safetensors, overflow": ("bert weights", safetensors({"a": tensor(0, 4, shape=(2**62, 8))}, bytes(4))),
    "safetensors, negative": ("bert weights", safetensors({"a": tensor(0, 4, shape=(-1,))}, bytes(4))),
    **{
        f"configuration, {name}": ("bert config", of_json(**{name: HUGE}))
        for name in ("num_hidden_layers", "vocab_size", "hidden_size", "intermediate_size", "max_position_embeddings")
    },
    "index, a file above": ("bert index", lambda good, folder: good.replace(b"model-1", b"../model-1")),
}  # fmt: skip


def said(name: str, folder: Path) -> str:
    """The sentence that a giant gets, or what else came."""
    reader, make = GIANTS[name]
    file = READERS[reader].write(folder)
    content = make(file.read_bytes(), folder)
    file.write_bytes(content)
    with open("/proc/self/statm") as sizes:
        taken = int(sizes.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + ROOM, resource.RLIM_INFINITY))
    try:
        return f"read: {READERS[reader].read(folder) is not None}"
    except InputError as error:
        return str(error)
    except BaseException as error:  # what no reader should raise
        return f"broke: {error!r}"
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)


if __name__ == "__main__":
    place = Path(sys.argv[1])
    paths.CACHE = place / "cache"
    for reader in ("fasttext.bin", "matrix.npy", "elmo weights", "bert weights", "urae words"):  # loads the libraries
        (place / reader).mkdir(parents=True)
        READERS[reader].write(place / reader)
        READERS[reader].read(place / reader)
    for number, name in enumerate(GIANTS):
        (place / str(number)).mkdir()
        print(json.dumps([name, said(name, place / str(number))]), flush=True)
