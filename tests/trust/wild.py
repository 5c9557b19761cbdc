"""Sentences and vectors that nobody sends on purpose, and everybody sends one day."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st

SEED = st.integers(0, 2**32 - 1)

# -- sentences ----------------------------------------------------------------------------------

SENTENCES = {
    "empty": "",
    "white space": " \t\u00a0\u3000\n",
    "zero bytes": "a\0b \0 \0\0",
    "lone surrogates": "x \ud800 y\udfff",
    "surrogate pair": "\ud83d\ude00 here",
    "right to left": "\u05e9\u05dc\u05d5\u05dd \u202eabc\u202c \u0627\u0644\u0633\u0651\u0644\u0627\u0645",
    "family": "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 \U0001f3f3\ufe0f\u200d\U0001f308",
    "combining marks": "e" + "\u0301" * 300 + " " + "a" + "\u0300\u0323" * 100,
    "unassigned": "\u0378 \U000e0fff \U0010ffff \ufffe\uffff",
    "line separators": "one\u2028two\u2029three\x85four\x0bfive\x0csix\x1cseven\r\neight",
    "long word": "x" * 4000,
    "long number": "9" * 2000,
    "numbers": "1 22 333.5 1e308 NaN inf -0 0x1F \u0663\u0661 \u00bd",
    "quotation marks": "\"'" * 600,
    "emoticons": ":)" * 300 + " (: " + "_" * 700,
    "joined": "a/" * 300 + "b-" * 300 + "c." * 300 + "@" * 600,
    "link": "http://" + "a." * 200 + "com?" + "%20" * 100,
    "invisible": "\u200b\u200c\u200d\ufeff\u00ad",
    "jamo": "\u1100\u1161\u11a8" * 50,
    "special tokens": "</s> <PLACEHOLDER> [CLS] [SEP] [PAD] <unk> __label__x <s> BOW",
    "cased": "\u0130STANBUL \u1e9e \u00df \ufb01 \u01c5 \u0345",
    "format": "%s %d {0} {x} \\N{BULLET} $HOME `ls`",
    "plain": "The cat sat on the mat .",
}

_ODD = st.sampled_from(["\0", "\u202e", "\u200d", "\ufeff", "\u2028", "\x85", "\x1c", "\u0301", "\U0001f468", "\u0378"])
_PIECES = st.one_of(
    st.text(max_size=12),
    st.lists(_ODD, max_size=6).map("".join),
    st.tuples(st.sampled_from([*"\"'().,:;-_=*<@#$/9ax\u0301\u4e2d\u0e01"]), st.integers(1, 90)).map(
        lambda p: p[0] * p[1]
    ),
    st.sampled_from(["the", "cat", "God", "said", "Jesus", "dog", "mat"]),
)
sentences = st.one_of(
    st.sampled_from([sentence for kind, sentence in SENTENCES.items() if "surrogate" not in kind]),
    st.lists(_PIECES, max_size=8).map(" ".join),
    st.lists(_PIECES, max_size=5).map("".join),
)
batches = st.lists(sentences, min_size=1, max_size=6)

MEGABYTES = {
    "one word": lambda n: "x" * n,
    "combining marks": lambda n: "e" + "\u0301" * n,
    "words": lambda n: "the cat sat " * (n // 12),
    "white space": lambda n: " " * n,
    "zero bytes": lambda n: "\0" * n,
}

# -- vectors ------------------------------------------------------------------------------------

NOT_FINITE = (np.nan, np.inf, -np.inf)
_DTYPES = ("float32", "float64", "float16", "int8", "int64", "uint8", "bool", ">f4", ">f8", "longdouble")
_LAYOUTS = ("C", "F", "reversed", "strided", "read-only", "unaligned", "list")


@st.composite
def matrices(draw, least: int = 1, most: int = 30, dim: int | None = None) -> np.ndarray:
    """float64[n, d] of finite numbers: rows of any length, denormal ones, zero rows, and rows that repeat others."""
    rng = np.random.default_rng(draw(SEED))
    n, d = draw(st.integers(least, most)), draw(st.integers(1, 9)) if dim is None else dim
    kind = draw(st.sampled_from(["normal", "lengths", "huge", "tiny", "denormal", "small integers", "near"]))
    rows = rng.normal(size=(n, d))
    if kind == "lengths":
        rows *= 10.0 ** rng.integers(-300, 300, size=(n, 1))
    if kind == "huge":
        rows = np.clip(rows, -1, 1) * 1.7e308
    if kind == "tiny":
        rows *= 1e-300
    if kind == "denormal":
        rows = np.rint(3 * rows) * 5e-324
    if kind == "small integers":
        rows = rng.integers(-1, 2, size=(n, d)).astype(np.float64)
    if kind == "near":
        rows = rng.normal(size=(1, d)) + 1e-9 * rows
    rows[rng.random(n) < draw(st.sampled_from([0, 0.2]))] = 0
    return rows[rng.integers(0, n, n)] if draw(st.booleans()) else rows


@st.composite
def arrays(draw, rows: np.ndarray) -> tuple[object, np.ndarray]:
    """The rows in some type and layout, and float64[n, d], what these are exactly."""
    dtype = draw(st.sampled_from(_DTYPES))
    kind = np.dtype(dtype)
    if kind.kind in "iub":
        scale = np.abs(rows).max(initial=0.0) or 1.0
        typed = (rows / scale * (100 if kind.kind == "i" else 1)).clip(0 if kind.kind != "i" else None).astype(kind)
    else:
        with np.errstate(over="ignore", under="ignore"):
            limits = np.finfo(kind)
            typed = rows.clip(max(limits.min, -1.7e308), min(limits.max, 1.7e308)).astype(kind)
    return laid_out(typed, draw(st.sampled_from(_LAYOUTS))), typed.astype(np.float64)


def laid_out(array: np.ndarray, layout: str) -> object:
    """The same numbers, lying differently in memory."""
    if layout == "F":
        return np.asfortranarray(array)
    if layout == "reversed":
        return array[::-1, ::-1].copy()[::-1, ::-1]
    if layout == "strided":
        return np.repeat(np.repeat(array, 2, axis=0), 3, axis=1)[::2, ::3]
    if layout == "unaligned":
        return np.frombuffer(b"." + array.tobytes(), np.uint8)[1:].view(array.dtype).reshape(array.shape)
    if layout == "list":
        return array.tolist()
    copy = array.copy()
    copy.flags.writeable = layout != "read-only"
    return copy


@st.composite
def sparse(draw, rows: np.ndarray) -> tuple[sp.sparray, np.ndarray]:
    """Some of the numbers as a sparse array: unsorted, repeated, zeros that are stored; and float64[n, d]."""
    rng = np.random.default_rng(draw(SEED))
    kept = np.where(rng.random(rows.shape) < 0.6, rows, 0.0)
    coo = sp.coo_array(kept)
    order = rng.permutation(coo.nnz)
    r, c, v = coo.coords[0][order], coo.coords[1][order], coo.data[order]
    if draw(st.booleans()):  # every entry in two halves, beside a zero that is stored
        r, c, v = np.tile(r, 3), np.tile(c, 3), np.concatenate([v / 2, v - v / 2, 0 * v])
    lines = np.argsort(r, kind="stable")
    kind = draw(st.sampled_from([np.int32, np.int64]))
    starts = np.concatenate([[0], np.cumsum(np.bincount(r, minlength=len(rows)))]).astype(kind)
    found = sp.csr_array((v[lines], c[lines].astype(kind), starts), shape=rows.shape)
    form = draw(st.sampled_from(["csr", "csr", "csc", "coo", "lil", "matrix"]))
    return (sp.csr_matrix(found) if form == "matrix" else found.asformat(form)), found.toarray()


def unit(vectors: np.ndarray) -> np.ndarray:
    """Rows of length 1 by plain arithmetic in long double, zero rows left as they are."""
    wide = vectors.astype(np.longdouble)
    lengths = np.sqrt((wide**2).sum(axis=1, keepdims=True))
    return (wide / np.where(lengths > 0, lengths, 1)).astype(np.float64)


def cosines(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """float64[n, m] by definition."""
    return unit(left) @ unit(right).T
