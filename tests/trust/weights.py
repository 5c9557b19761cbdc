"""Every reader of weights with a tiny good file for it: what `test_hostile_weights` damages."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from lib.corpora import text
from lib.corpora.text import read_probabilities
from lib.run import paths
from lib.run.errors import InputError
from tests.official.elmo import write_elmo
from tests.official.infersent import random_weights, write_infersent
from tests.official.sent2vec import write_model
from tests.official.static import (
    write_fasttext_bin,
    write_folder,
    write_glove_text,
    write_word2vec_binary,
)
from tests.official.transformers import write_bert, write_gpt
from tests.unit.test_urae import write_matlab

# What a format can tell of itself: whether it is whole, or even whether it is right.
NOTHING, LENGTH, CONTENT = "nothing", "length", "content"
SENTENCES = ["the cat sat .", "the", ""]


@dataclass(frozen=True)
class Reader:
    """A reader of weights.

    Attributes
    ----------
    write : writes good files into a folder; returns the one that is to be damaged
    read : what comes of a folder's files, to be compared
    tells : how much of a damage the format can tell
    dear : whether a case takes more than a few milliseconds
    """

    write: Callable[[Path], Path]
    read: Callable[[Path], Any]
    tells: str
    dear: bool = False


def finite(vectors: np.ndarray) -> bytes:
    """The bytes of vectors, none of which may be NaN or infinite."""
    assert np.isfinite(vectors).all()
    return vectors.tobytes()


# -- word vectors -------------------------------------------------------------------------------


def some_vectors() -> dict[str, np.ndarray]:
    words = ["the", "naïve", "日本語", ".", "a", "bb", "cat"]
    return dict(zip(words, np.random.default_rng(0).normal(size=(7, 3)).astype(np.float32), strict=True))


def write_vectors(write: Callable[..., None], name: str, folder: Path) -> Path:
    write(folder / name, some_vectors())
    return folder / name


def write_with_ngrams(file: Path, vectors: dict[str, np.ndarray]) -> None:
    write_fasttext_bin(file, vectors, np.random.default_rng(1).normal(size=(5, 3)), 2, 4)


def write_table(name: str, folder: Path) -> Path:
    write_folder(folder / "table", some_vectors())
    return folder / "table" / name


def read_vectors(name: str, folder: Path) -> dict[str, bytes]:
    from lib.embedders.static import WordVectors

    shutil.rmtree(paths.CACHE, ignore_errors=True)  # it knows a file by its size and the time of its change
    vectors = WordVectors.load(folder / name, show_progress_bar=False)
    return {word: finite(vectors[word]) for word in [*vectors, *({"cats", "unseen"} & {*vectors.keys()})]}


# -- sentence encoders --------------------------------------------------------------------------


def read_sent2vec(folder: Path) -> bytes:
    from lib.sent2vec import Sent2Vec

    return finite(Sent2Vec.load(folder / "model.bin").encode(SENTENCES))


def read_elmo(folder: Path) -> bytes:
    from lib.embedders.elmo import Elmo

    return finite(Elmo(folder / "options.json", folder / "weights.hdf5", tokenize=str.split).encode(SENTENCES))


def read_infersent(folder: Path) -> bytes:
    from lib.embedders.infersent import InferSent

    rng = np.random.default_rng(2)
    vectors = {word: rng.normal(size=5) for word in ("<s>", "</s>", "the", "cat")}
    return finite(InferSent(folder / "weights.pkl", vectors, tokenize=str.split).encode(SENTENCES))


def read_urae(folder: Path) -> bytes:
    from lib.embedders.urae_file import PublishedURAE

    files = folder / "vars.normalized.100.mat", folder / "params.mat"
    return finite(PublishedURAE(*files, trees="balanced", tokenize=text.whitespace_tokens).encode(SENTENCES))


def write_counts(folder: Path) -> Path:
    (folder / "counts.txt").write_text("the 1000\n. 900\ncat 7\nnaïve 3\n", encoding="utf-8")
    return folder / "counts.txt"


def read_counts(folder: Path) -> dict[str, float]:
    probabilities = read_probabilities(folder / "counts.txt")
    assert all(0 <= p <= 1 for p in probabilities.values())
    return probabilities


# -- transformers -------------------------------------------------------------------------------


def of_folder(name: str, folder: Path, write: Callable[[Path], Path] = write_bert, *changes: Callable) -> Path:
    """Write a transformer's folder, change it, and return the file of this name in it."""
    write(folder / "model")
    for change in changes:
        change(folder / "model")
    return folder / "model" / name


def without_tokenizer_json(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()


def with_lists_of_tokens(folder: Path) -> None:
    without_tokenizer_json(folder)
    (folder / "special_tokens_map.json").write_text('{"unk_token": "[UNK]"}')
    (folder / "added_tokens.json").write_text("{}")


def with_own_length(folder: Path) -> None:
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 30, "do_lower_case": false}')


def in_two_files(folder: Path) -> None:
    from safetensors.numpy import load_file, save_file

    tensors = load_file(folder / "model.safetensors")
    shards = {name: f"model-{i % 2}.safetensors" for i, name in enumerate(tensors)}
    for shard in sorted({*shards.values()}):
        held = {name: tensors[name] for name in tensors if shards[name] == shard}
        save_file(held, folder / shard, metadata={"format": "pt"})
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": shards}))


def read_transformer(folder: Path) -> bytes:
    from lib.embedders import transformer_files
    from lib.embedders.transformer import Transformer

    transformer_files.load.cache_clear()
    embedder = Transformer("tiny", folder / "model", poolings=("avg",), precision="float32", tokenize=str.split)
    return finite(embedder.encode(SENTENCES))


def write_classifier(name: str, folder: Path) -> Path:
    from lib.finetuning import folder as folders

    write_bert(folder / "base")
    model, _ = folders.load(folder / "base", ["no", "yes"], seed=0)
    folders.save(model, folder / "base", {"steps": 1}, folder / "model")
    return folder / "model" / name


def read_classifier(folder: Path) -> tuple[list[str], bytes]:
    import torch

    from lib.finetuning.folder import load_classifier

    model, _ = load_classifier(folder / "model")
    with torch.inference_mode():
        logits = model(input_ids=torch.tensor([[2, 5, 3]])).logits.numpy()
    if not np.isfinite(logits).all():  # of an encoder with huge weights, which may be used before they are checked
        raise InputError(f"{folder}: logits")
    return list(model.config.id2label.values()), logits.tobytes()


def transformer(name: str, *how: Callable, tells: str = NOTHING) -> Reader:
    return Reader(lambda folder: of_folder(name, folder, *how), read_transformer, tells, dear=True)


# -- all of them --------------------------------------------------------------------------------

_WORD_VECTORS = {
    "glove.txt.gz": (write_glove_text, CONTENT),
    "word2vec.bin": (write_word2vec_binary, LENGTH),
    "google.bin.gz": (partial(write_word2vec_binary, newline=False), CONTENT),
    "fasttext.bin": (write_with_ngrams, LENGTH),
}
READERS = {
    **{
        name: Reader(partial(write_vectors, write, name), partial(read_vectors, name), tells)
        for name, (write, tells) in _WORD_VECTORS.items()
    },
    "matrix.npy": Reader(partial(write_table, "tiny_emb.npy"), partial(read_vectors, "table"), LENGTH),
    "words.parquet": Reader(partial(write_table, "tiny_index.parquet"), partial(read_vectors, "table"), LENGTH),
    "sent2vec.bin": Reader(
        lambda folder: write_model(folder / "model.bin", words=("<PLACEHOLDER>", "the", "</s>", "cat")),
        read_sent2vec,
        LENGTH,
    ),
    "elmo options": Reader(lambda folder: write_elmo(folder)[0], read_elmo, LENGTH),
    "elmo weights": Reader(lambda folder: write_elmo(folder)[1], read_elmo, LENGTH),
    "infersent, old": Reader(
        lambda folder: write_infersent(folder / "weights.pkl", random_weights(5, 4)), read_infersent, LENGTH
    ),
    "infersent, zip": Reader(
        lambda folder: write_infersent(folder / "weights.pkl", random_weights(5, 4), old=False), read_infersent, CONTENT
    ),
    "urae words": Reader(lambda folder: write_matlab(folder)[0], read_urae, LENGTH),
    "urae network": Reader(lambda folder: write_matlab(folder)[1], read_urae, LENGTH),
    "word counts": Reader(write_counts, read_counts, NOTHING),
    "bert config": transformer("config.json", tells=LENGTH),
    "bert weights": transformer("model.safetensors", tells=LENGTH),
    "bert tokenizer": transformer("tokenizer.json", tells=LENGTH),
    "bert vocabulary": transformer("vocab.txt", write_bert, with_lists_of_tokens),
    "bert tokenizer config": transformer("tokenizer_config.json", write_bert, with_lists_of_tokens, tells=LENGTH),
    "bert special tokens": transformer("special_tokens_map.json", write_bert, with_lists_of_tokens, tells=LENGTH),
    "bert added tokens": transformer("added_tokens.json", write_bert, with_lists_of_tokens, tells=LENGTH),
    "bert length": transformer("sentence_bert_config.json", write_bert, with_own_length, tells=LENGTH),
    "bert shard": transformer("model-1.safetensors", write_bert, in_two_files, tells=LENGTH),
    "bert index": transformer("model.safetensors.index.json", write_bert, in_two_files, tells=LENGTH),
    "gpt config": transformer("config.json", write_gpt, tells=LENGTH),
    "gpt vocabulary": transformer("vocab.json", write_gpt, without_tokenizer_json, tells=LENGTH),
    "gpt merges": transformer("merges.txt", write_gpt, without_tokenizer_json),
    "classifier top": Reader(partial(write_classifier, "classifier.safetensors"), read_classifier, LENGTH, dear=True),
    "classifier config": Reader(partial(write_classifier, "config.json"), read_classifier, LENGTH, dear=True),
}
