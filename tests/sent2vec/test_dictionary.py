"""The dictionary numbers words as the authors' program does.

Ties, however, are in order of first occurrence.
"""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lib.sent2vec.text import Dictionary

TEXT = [
    b"the cat sat\n",
    b"the dog sat on the __label__pet cat\n",
    b"\n",
    b"a \xc2\xa0 b",
]


def test_words_go_by_count_then_by_first_occurrence_behind_the_placeholder() -> None:
    dictionary = Dictionary.build([TEXT], min_count=1)
    assert dictionary.words == [
        b"<PLACEHOLDER>", b"the", b"</s>", b"cat", b"sat", b"dog", b"on", b"a",
        b"\xc2\xa0", b"b",
    ]  # fmt: skip
    assert dictionary.counts.tolist() == [0, 3, 3, 2, 2, 1, 1, 1, 1, 1]
    assert dictionary.n_words == 10
    # Three ends of lines and the label among them; the last line has no end.
    assert dictionary.tokens == 16
    rare = Dictionary.build([TEXT], min_count=2)
    assert rare.words == dictionary.words[:5]
    assert rare.tokens == 16


def test_a_limit_counts_the_placeholder() -> None:
    words = Dictionary.build([TEXT], min_count=1).words
    for limit in (4, 10, 11, 50):
        limited = Dictionary.build([TEXT], min_count=1, max_vocabulary=limit)
        assert limited.words == words[:limit]
        assert limited.n_words == min(limit, 10)


def test_ids_leave_out_the_unknown_labels_and_ends_of_lines() -> None:
    dictionary = Dictionary.build([TEXT], min_count=2)
    ids = dictionary.ids([b"cat unknown __label__pet the </s> cat\n"])[0]
    assert ids.tolist() == [3, 1, 3]
    # White space is that of ASCII, and zero.
    line = "the\rcat\tsat\vthe\fcat\0sat\nthe\u2003cat the\u00a0cat THE"
    assert dictionary.ids([line.encode()])[0].tolist() == [1, 3, 4, 1, 3, 4]


TOKENS = st.sampled_from(
    [b"a", b"b", b"cc", b"</s>", b"__label__x", b"<PLACEHOLDER>", b"\xff", "ü".encode()]
)
LINES = st.lists(st.lists(TOKENS, max_size=6), min_size=1, max_size=8)


@given(LINES)
def test_lines_together_have_the_ids_that_they_have_alone(lines) -> None:
    dictionary = Dictionary.build([[b"a b b </s> cc cc cc __label__x\n"]], 1)
    text = [b" ".join(line) for line in lines]
    ids, starts = dictionary.ids(text)
    assert len(starts) == len(text) + 1
    for line, start, end in zip(text, starts, starts[1:], strict=False):
        expected = [
            {b"cc": 1, b"b": 2, b"a": 4, b"<PLACEHOLDER>": 0}.get(token)
            for token in line.split()
        ]
        assert ids[start:end].tolist() == [id for id in expected if id is not None]


def test_the_examples_dictionary_is_the_programs(data_file) -> None:
    """Up to the order of equally frequent words, which the program leaves to chance."""
    from lib.sent2vec.binary import read

    theirs = read(data_file("sent2vec/model.bin")).dictionary
    with data_file("sent2vec/train.txt").open("rb") as lines:
        ours = Dictionary.build([[*lines]], min_count=3)
    assert ours.tokens == theirs.tokens
    np.testing.assert_array_equal(ours.counts, theirs.counts)
    assert ours.n_words == theirs.n_words
    assert sorted(zip(ours.counts, ours.words, strict=True)) == sorted(
        zip(theirs.counts, theirs.words, strict=True)
    )
