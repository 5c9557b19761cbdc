"""Sentences that nobody sends on purpose, and everybody sends one day."""

from __future__ import annotations

import re

from hypothesis import strategies as st

SENTENCES = [
    "",
    " \t\u00a0\u3000\n",
    "a\0b \0 \0\0",
    "x \ud800 y\udfff",
    "\ud83d\ude00 here",
    (
        "\u05e9\u05dc\u05d5\u05dd \u202eabc\u202c "
        "\u0627\u0644\u0633\u0651\u0644\u0627\u0645"
    ),
    (
        "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 "
        "\U0001f3f3\ufe0f\u200d\U0001f308"
    ),
    "e" + "\u0301" * 300 + " " + "a" + "\u0300\u0323" * 100,
    "\u0378 \U000e0fff \U0010ffff \ufffe\uffff",
    "one\u2028two\u2029three\x85four\x0bfive\x0csix\x1cseven\r\neight",
    "x" * 4000,
    "9" * 2000,
    "1 22 333.5 1e308 NaN inf -0 0x1F \u0663\u0661 \u00bd",
    "\"'" * 600,
    ":)" * 300 + " (: " + "_" * 700,
    "a/" * 300 + "b-" * 300 + "c." * 300 + "@" * 600,
    "http://" + "a." * 200 + "com?" + "%20" * 100,
    "\u200b\u200c\u200d\ufeff\u00ad",
    "\u1100\u1161\u11a8" * 50,
    "</s> <PLACEHOLDER> [CLS] [SEP] [PAD] <unk> __label__x <s> BOW",
    "\u0130STANBUL \u1e9e \u00df \ufb01 \u01c5 \u0345",
    "%s %d {0} {x} \\N{BULLET} $HOME `ls`",
    "The cat sat on the mat .",
]

_PIECES = st.one_of(
    st.text(max_size=12),
    st.tuples(
        st.sampled_from([*"\"'().,:;-_=*<@#$/9ax\0\u202e\u200d\u2028\u0301\u4e2d"]),
        st.integers(1, 90),
    ).map(lambda p: p[0] * p[1]),
    st.sampled_from(["the", "cat", "God", "said", "Jesus", "dog", "mat"]),
)
sentences = st.one_of(
    st.sampled_from(
        [
            sentence
            for sentence in SENTENCES
            if not re.search("[\ud800-\udfff]", sentence)
        ]
    ),
    st.lists(_PIECES, max_size=8).map(" ".join),
    st.lists(_PIECES, max_size=5).map("".join),
)
batches = st.lists(sentences, min_size=1, max_size=6)
