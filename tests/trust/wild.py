"""Sentences that nobody sends on purpose, and everybody sends one day."""

from __future__ import annotations

from hypothesis import strategies as st

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
