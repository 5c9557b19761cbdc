"""Tiny modules in the first format of TensorFlow Hub, as its exporter writes them.

TensorFlow is passed in, since only some environments have it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

FORMAT_3 = b"\x08\x03"  # all that tfhub_module.pb holds

Graph = Callable[[Any, Any, dict[str, Any]], Any]


def write_use(
    tf: Any, folder: Path, words: list[str], arrays: dict[str, np.ndarray], graph: Graph
) -> Path:
    """Write a module that splits text at blanks and calls `graph`.

    The module numbers its `words`; all other words share the next number. `graph` takes
    TensorFlow, the numbers (a sparse tensor, one row a sentence) and the variables made
    of `arrays`.
    """
    v1 = tf.compat.v1
    vocabulary = folder.with_suffix(".txt")
    vocabulary.parent.mkdir(parents=True, exist_ok=True)
    vocabulary.write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
    with tf.Graph().as_default(), v1.Session() as session:
        text = v1.placeholder(tf.string, [None], name="text")
        ids = _numbers(tf, text, vocabulary)
        vectors = graph(
            tf,
            ids,
            {
                name: v1.get_variable(name, initializer=array)
                for name, array in arrays.items()
            },
        )
        session.run(v1.global_variables_initializer())
        _export(v1, session, folder, text, vectors)
    _forget_the_saver(folder / "saved_model.pb")
    (folder / "tfhub_module.pb").write_bytes(FORMAT_3)
    return folder


def deep_averaging(tf: Any, ids: Any, variables: dict[str, Any]) -> Any:
    """A layer over the sum of embeddings divided by the square root of their number."""
    sums = tf.nn.safe_embedding_lookup_sparse(
        variables["embeddings"], ids, combiner="sqrtn"
    )
    return tf.tanh(sums @ variables["weights"] + variables["bias"])


def _numbers(tf: Any, text: Any, vocabulary: Path) -> Any:
    lines = tf.lookup.TextFileInitializer(
        str(vocabulary),
        tf.string,
        tf.lookup.TextFileIndex.WHOLE_LINE,
        tf.int64,
        tf.lookup.TextFileIndex.LINE_NUMBER,
    )
    table = tf.lookup.StaticVocabularyTable(lines, num_oov_buckets=1)
    words = tf.strings.split(text).to_sparse()
    return tf.SparseTensor(words.indices, table.lookup(words.values), words.dense_shape)


def _export(v1: Any, session: Any, folder: Path, text: Any, vectors: Any) -> None:
    info = v1.saved_model.build_tensor_info
    signature = v1.saved_model.build_signature_def(
        {"text": info(text)}, {"default": info(vectors)}
    )
    builder = v1.saved_model.Builder(str(folder))
    builder.add_meta_graph_and_variables(
        session,
        tags=[],
        signature_def_map={"default": signature},
        assets_collection=v1.get_collection(v1.GraphKeys.ASSET_FILEPATHS),
    )
    builder.save()


def _forget_the_saver(file: Path) -> None:
    """The hub's exporter records none: the reader makes one for the variables."""
    model = import_module(
        "tensorflow.core.protobuf.saved_model_pb2"
    ).SavedModel.FromString(file.read_bytes())
    model.meta_graphs[0].ClearField("saver_def")
    file.write_bytes(model.SerializeToString())
