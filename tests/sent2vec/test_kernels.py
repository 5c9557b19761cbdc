"""Sent2Vec's kernels beside plain Python and hand-derived values.

The plain Python updates every row after every target.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from lib.sent2vec import kernels, matrices
from lib.sent2vec.contexts import Method, workspace_for
from lib.sent2vec.settings import Settings
from lib.sent2vec.text import Dictionary
from lib.sent2vec.training import keep_probabilities, negatives_table

DIM, WORDS, LR, SEED = 5, 9, 0.7, 3
LINES = [[1, 2, 3, 4, 5, 6], [2, 7, 2, 2, 8, 7, 2], [3, 1], [4, 5, 6, 4, 5, 6, 1, 2]]


# -- the replica -----------------------------------------------------------------------


class Draws:
    """SplitMix64 in whole numbers of Python."""

    def __init__(self, seed: int, stream: int) -> None:
        self.state = self._mixed(self._mixed(seed + 0x9E3779B97F4A7C15) + stream)

    @staticmethod
    def _mixed(value: int) -> int:
        value %= 2**64
        value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        value = (value ^ value >> 27) * 0x94D049BB133111EB % 2**64
        return value ^ value >> 31

    def bits(self) -> int:
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        return self._mixed(self.state)

    def uniform(self) -> float:
        return (self.bits() >> 11) / 2**53

    def below(self, limit: int) -> int:
        return (self.bits() >> 32) * limit >> 32


def table_sigmoid(x: float) -> float:
    if abs(x) > 8:
        return float(x > 0)
    return 1 / (1 + np.exp(-(16 * int((x + 8) * 32) / 512 - 8)))


def row_of(words: list[int], method: Method) -> int:
    """The row of a word or an n-gram."""
    if len(words) == 1:
        return words[0]
    hashed = 0
    for word in words:
        hashed = (hashed * 116049371 + word) % 2**64
    return method.n_words + hashed % method.bucket


def spans(n: int, longest: int) -> list[range]:
    """The positions of each n-gram of two or more words, by first word, then length."""
    return [
        range(i, i + size)
        for i in range(n)
        for size in range(2, longest + 1)
        if i + size <= n
    ]


class Replica:
    """Section 5 of the program's description, word for word, in float64.

    Nothing is deferred, and nothing is shared.
    """

    def __init__(self, model: kernels.Model, method: Method, stream: int) -> None:
        self.inputs, self.outputs = (matrix.astype(np.float64) for matrix in model)
        self.method = method
        self.draws = Draws(SEED, stream)
        self.cursor = self.draws.below(len(method.negatives))
        self.learned = 0

    def kept(self, word: int) -> bool:
        return self.draws.uniform() <= self.method.keep[word]

    def line(self, words: list[int], lr: float) -> None:
        thin = self.method.subsample_context
        if thin:
            words = [word for word in words if self.kept(word)]
        if len(words) < 2:
            return
        chosen = [
            i
            for i, word in enumerate(words)
            if (thin or self.kept(word)) and self.method.eligible[word]
        ]
        if not self.method.window:
            self.part(words, chosen, lr)
            return
        for i in chosen:
            reach = 1 + self.draws.below(self.method.window)
            start = max(0, i - reach)
            self.part(words[start : i + reach + 1], [i - start], lr)

    def negatives(
        self, words: list[int], chosen: list[int], t: int, count: int
    ) -> list[int]:
        found: list[int] = []
        while t < len(chosen) and len(found) < count:
            self.cursor = (self.cursor + 1) % len(self.method.negatives)
            at = (
                self.cursor
                if self.method.reference
                else self.draws.below(len(self.method.negatives))
            )
            found += [
                int(word)
                for word in self.method.negatives[at : at + 1]
                if word != words[chosen[t]]
            ]
        return found

    def part(self, words: list[int], chosen: list[int], lr: float) -> None:
        following = self.negatives(words, chosen, 0, NEGATIVES)
        dropped = set() if self.method.reference else self.dropped_ngrams(len(words))
        for t, target in enumerate(chosen):
            negatives, following = (
                following,
                self.negatives(words, chosen, t + 1, NEGATIVES),
            )
            rows = (
                self.reference(words, target)
                if self.method.reference
                else self.paper(words, target, dropped)
            )
            self.update(words[target], negatives, rows, lr)

    def reference(self, words: list[int], target: int) -> list[int]:
        """The placeholder replaces the target; no n-gram includes a marked word.

        K words are marked.
        """
        words, n = [*words[:target], 0, *words[target + 1 :]], len(words)
        marked: set[int] = set()
        if self.method.word_ngrams > 1 and self.method.dropout_probability:
            marked = {
                i
                for i in range(n)
                if self.draws.uniform() < self.method.dropout_probability
            }
        elif self.method.word_ngrams > 1:
            while len(marked) < self.method.dropout_k and n - len(marked) > 2:
                marked.add(self.draws.below(n))
        whole = [
            span
            for span in spans(n, self.method.word_ngrams)
            if not marked.intersection(span)
        ]
        return words + [row_of([words[i] for i in span], self.method) for span in whole]

    def dropped_ngrams(self, n: int) -> set[range]:
        """K n-grams of the line, all of them if it has fewer."""
        every = spans(n, self.method.word_ngrams)
        if self.method.dropout_probability:
            return {
                span
                for span in every
                if self.draws.uniform() < self.method.dropout_probability
            }
        dropped: set[range] = set()
        while len(dropped) < min(self.method.dropout_k, len(every)):
            dropped.add(every[self.draws.below(len(every))])
        return dropped

    def paper(self, words: list[int], target: int, dropped: set[range]) -> list[int]:
        """Words and n-grams without the target."""
        left = [
            span
            for span in spans(len(words), self.method.word_ngrams)
            if span not in dropped
        ]
        left = [span for span in left if target not in span]
        others = words[:target] + words[target + 1 :]
        return others + [row_of([words[i] for i in span], self.method) for span in left]

    def update(
        self, target: int, negatives: list[int], rows: list[int], lr: float
    ) -> None:
        hidden = sum(self.inputs[row] for row in rows) / len(rows)
        gradient = np.zeros(len(hidden))
        for row, label in [(target, 1.0), *((row, 0.0) for row in negatives)]:
            step = lr * (label - table_sigmoid(self.outputs[row] @ hidden))
            gradient += step * self.outputs[row]
            self.outputs[row] += step * hidden
        for row in rows:
            self.inputs[row] += gradient / len(rows)
        for row in rows:
            self.inputs[row] = soft(self.inputs[row], self.method.l1 * lr / len(rows))
        for row in [target, *negatives]:
            self.outputs[row] = soft(self.outputs[row], self.method.l1 * lr)
        self.learned += 1


def soft(x: np.ndarray, threshold: float) -> np.ndarray:
    return np.sign(x) * np.maximum(np.abs(x) - threshold, 0)


# -- the kernel ------------------------------------------------------------------------

NEGATIVES = 4


def model_of(method: Method, rng: np.random.Generator) -> kernels.Model:
    model = kernels.Model(
        matrices.padded(WORDS + method.bucket + 1, DIM), matrices.padded(WORDS, DIM)
    )
    for matrix in model:
        matrix[:, :DIM] = rng.uniform(-1, 1, (len(matrix), DIM))
    return model


def method_of(variant: str, **changes: object) -> Method:
    """Words only, without subsampled contexts, windows and L1."""
    table = np.repeat(np.arange(WORDS, dtype=np.int32), [0, 9, 8, 7, 6, 5, 4, 3, 2])
    np.random.default_rng(5).shuffle(table)
    return Method(
        word_ngrams=1,
        bucket=20 if changes.get("word_ngrams", 1) > 1 else 0,
        dropout_k=0,
        dropout_probability=0.0,
        subsample_context=False,
        window=0,
        l1=np.float32(changes.pop("l1", 0)),
        n_words=WORDS,
        reference=variant == "reference",
        keep=np.linspace(1.1, 0.4, WORDS, dtype=np.float32),
        eligible=np.arange(WORDS) != 6,
        negatives=table,
    )._replace(**changes)


def stream_of(lines: list[list[int]]) -> np.ndarray:
    return np.array(
        [number for line in lines for number in (len(line), *line)], np.int32
    )


def learn(
    model: kernels.Model,
    method: Method,
    lines: list[list[int]],
    stream: int = 0,
    lr: float = LR,
) -> tuple:
    """What `learn_block` returns, and its report."""
    workspace = workspace_for(max(map(len, lines)), NEGATIVES, matrices.LINE, method)
    failed = kernels.learn_block(
        stream_of(lines), (lr, 0.0), model, method, SEED, stream, workspace
    )
    return failed, workspace.report


CASES = {
    "words": {},
    "bigrams, dropout": {"word_ngrams": 2, "dropout_k": 2},
    "bigrams, more dropout than words": {"word_ngrams": 2, "dropout_k": 50},
    "bigrams, fixed probability": {"word_ngrams": 2, "dropout_probability": 0.3},
    "words, L1": {"l1": 0.05},
    "trigrams that collide, dropout, L1": {
        "word_ngrams": 3,
        "bucket": 2,
        "dropout_k": 2,
        "l1": 0.02,
    },
    "bigrams, subsampled contexts": {
        "word_ngrams": 2,
        "dropout_k": 1,
        "subsample_context": True,
    },
    "bigrams, dynamic windows": {"word_ngrams": 2, "dropout_k": 1, "window": 2},
}


@pytest.mark.parametrize("variant", ["reference", "paper"])
@pytest.mark.parametrize("case", CASES)
def test_updates_are_those_of_all_rows_after_every_target(variant, case, rng) -> None:
    method = method_of(variant, **CASES[case])
    for line, stream in ((line, stream) for line in LINES for stream in range(5)):
        model = model_of(method, rng)
        replica = Replica(model, method, stream)
        failed, report = learn(model, method, [line], stream)
        replica.line(line, LR)
        assert failed == -1
        assert report[1] == replica.learned
        np.testing.assert_allclose(model.inputs, replica.inputs, rtol=2e-5, atol=2e-6)
        np.testing.assert_allclose(model.outputs, replica.outputs, rtol=2e-5, atol=2e-6)
        assert not model.inputs[:, DIM:].any()


def test_one_update_by_hand() -> None:
    """Line "1 2", target 1, one negative (3), lr 1.

    The context is the placeholder and word 2: (1 + 3) / 2 = 2. Scores: 0.25 * 2 = 0.5
    and -0.5 * 2 = -1. Steps: 1 - sigmoid(0.5) = 0.377541 and -sigmoid(-1) = -0.268941.
    Gradient: (0.377541 * 0.25 + 0.268941 * 0.5) / 2 = 0.114428, for both members of the
    context.
    """
    method = method_of(
        "reference", eligible=np.arange(WORDS) == 1, negatives=np.array([3], np.int32)
    )
    model = model_of(method, np.random.default_rng(0))
    model.inputs[:, 0], model.outputs[:, 0] = (
        [1, 9, 3, *[9] * 7],
        [9, 0.25, 9, -0.5, *[9] * 5],
    )
    model.inputs[:, 1:] = model.outputs[:, 1:] = 0
    workspace = workspace_for(2, 1, matrices.LINE, method)
    kernels.learn_block(
        stream_of([[1, 2]]), (1.0, 0.0), model, method, SEED, 0, workspace
    )
    np.testing.assert_allclose(
        model.inputs[:4, 0], [1.114428, 9, 3.114428, 9], atol=1e-6
    )
    np.testing.assert_allclose(
        model.outputs[:4, 0], [9, 1.005081, 9, -1.037883], atol=1e-6
    )
    np.testing.assert_allclose(
        workspace.report,
        [math.log1p(math.exp(-0.5)) + math.log1p(math.exp(-1)), 1],
        rtol=1e-6,
    )


def test_lines_come_in_order_in_one_variant_and_shuffled_in_the_other(rng) -> None:
    lines = [[i % 8 + 1, (i + 3) % 8 + 1, 1] for i in range(60)]
    for variant in ("reference", "paper"):
        method = method_of(variant)
        model = model_of(method, rng)
        replica = Replica(model, method, 0)
        learn(model, method, lines, lr=0.1)
        order = list(range(len(lines)))
        if variant == "paper":
            for i in range(len(lines) - 1, 0, -1):
                j = replica.draws.below(i + 1)
                order[i], order[j] = order[j], order[i]
        for i in order:
            replica.line(lines[i], 0.1)
        np.testing.assert_allclose(model.inputs, replica.inputs, rtol=1e-3, atol=1e-4)


# -- its parts -------------------------------------------------------------------------


def dictionary_of(counts: list[int], tokens: int = 1000) -> Dictionary:
    """`</s>` is word 2."""
    words = [b"<PLACEHOLDER>", b"a", b"</s>", b"b", b"c", b"d"][: len(counts)]
    return Dictionary(words, np.array(counts, np.int64), len(counts), tokens)


@pytest.mark.parametrize("variant", ["reference", "paper"])
def test_negatives_go_by_the_square_root_of_the_count(variant) -> None:
    dictionary = dictionary_of([0, 400, 100, 64, 25, 9])
    found = np.bincount(negatives_table(dictionary, Settings(variant=variant)))
    expected = np.sqrt([0, 400, 100 * (variant == "reference"), 64, 25, 9])
    np.testing.assert_allclose(found / found.sum(), expected / sum(expected), rtol=0.01)


def test_frequencies_are_of_all_tokens_or_of_the_words_in_the_dictionary() -> None:
    dictionary = dictionary_of([0, 400, 100, 64, 25, 11])
    reference, paper = (
        keep_probabilities(dictionary, Settings(variant=variant, subsample=0.01))
        for variant in ("reference", "paper")
    )
    np.testing.assert_allclose(
        reference[1], math.sqrt(0.01 / 0.4) + 0.01 / 0.4, rtol=1e-6
    )
    np.testing.assert_allclose(
        paper[1], math.sqrt(0.01 / 0.8) + 0.01 / 0.8, rtol=1e-6
    )  # of 400 + 64 + 25 + 11
    assert reference[0] == paper[0] == 0
