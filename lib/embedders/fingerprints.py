"""What stands for word vectors, probabilities and functions in the settings of an embedder."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np


def of_mapping(mapping: Mapping[str, Any]) -> str:
    """32 hexadecimal digits for a mapping from words to numbers or vectors; its own fingerprint if it has one."""
    if hasattr(mapping, "fingerprint"):
        return mapping.fingerprint
    digest = hashlib.blake2b(digest_size=16)
    for word in sorted(mapping):
        data = word.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little") + data)
        digest.update(np.asarray(mapping[word], dtype=np.float64).tobytes())
    return digest.hexdigest()


def of_function(function: Callable) -> str:
    """Where a function is defined and its name, such as ``lib.corpora.text.word_tokens``."""
    # Methods of built-in types (str.split) say no module.
    return f"{getattr(function, '__module__', None) or 'builtins'}.{function.__qualname__}"
