"""How fast Sent2Vec trains, beside gensim's C-BOW on the same text.

Both run in the same minutes; what Sent2Vec learns is checked first.

``python -m benchmarks.sent2vec`` writes docs/benchmarks/sent2vec.md, and
docs/benchmarks/sent2vec_costs.csv, by which the lesson judges claims about time. A turn
is one training of each candidate. Rates are words of the vocabulary over seconds and
threads, without the passes that count and number words, which gensim makes too.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import cpu_count

from benchmarks import measure
from lib import catalog, corpora, similarity, tasks
from lib.sent2vec import Sent2Vec, training
from lib.sent2vec.settings import Settings
from lib.sent2vec.text import Text
from lib.stats import Sampling, bootstrap, mean

MIX = "sent2vec/mix.txt.gz"
DIMS = (100, 700)
SAMPLES = (1e-4, 1e-5)
TURNS = 3
LINES = 40_000  # of the text, that rates are measured on: all of them take half an hour
CBOW = "gensim C-BOW, window 5"
WORDS = "Sent2Vec, words"
NGRAMS = "Sent2Vec, words and bigrams, K = 4"
SETTINGS = Settings(epochs=1, negatives=10, min_count=8, min_target_count=8)
CANDIDATES = {  # what differs from the settings above
    WORDS: {},
    NGRAMS: {"word_ngrams": 2, "bucket": 500_000, "dropout_k": 4},
    "Sent2Vec, words, paper's variant": {"variant": "paper"},
}
# The authors' program, made by its Makefile, on two cores; its correlations on STS-B's
# test set, by cosine and z-normalized, after 30 of what it calls epochs of MIX, which
# are 31.4 passes.
PROGRAM = "as fast as gensim in 100 dimensions and 0.4 times as fast in 700"
PROGRAM_PEARSON = {1e-3: (0.4995, 0.559), 1e-4: (0.456, 0.519)}
PASSES = 31
TOKEN = re.compile(r"\w+|[^\w\s]")

LENGTHS = (5, 10, 20, 40, 80, 160)  # words of a sentence
THREADS = 30  # the authors'
TWITTER = 19.7e9 * 3  # words times passes (tables 3 and 5): the slowest model
SHORT = Settings(dim=100, epochs=1, min_count=1, min_target_count=1, subsample=1.0)
BIGRAMS = {"word_ngrams": 2, "bucket": 50_000, "dropout_k": 4, "subsample": 1e-3}


def tokenized(sentence: str) -> str:
    return " ".join(TOKEN.findall(sentence.lower()))


# -- rates -----------------------------------------------------------------------------


def ours(file: Path, settings: Settings) -> float:
    """Seconds of a training."""
    return training.train(file, settings).history[-1].seconds


def cbow(file: Path, settings: Settings) -> Callable[[], float]:
    """A function that trains gensim's model once and returns the seconds.

    Gensim reads no compressed file.
    """
    from gensim.models import Word2Vec

    model = Word2Vec(
        vector_size=settings.dim, window=5, negative=settings.negatives,
        sample=settings.subsample, min_count=settings.min_count,
        workers=settings.threads, sg=0, ns_exponent=0.5,
    )  # fmt: skip
    model.build_vocab(corpus_file=str(file))
    size = {
        "total_examples": model.corpus_count,
        "total_words": model.corpus_total_words,
    }
    train = partial(model.train, corpus_file=str(file), epochs=settings.epochs, **size)
    return partial(measure.seconds, train)


def rates(file: Path, words: int, settings: Settings, runs: int) -> pd.DataFrame:
    """Words a second and thread in each turn; `words` are those of a pass."""
    candidates = {CBOW: cbow(file, settings)}
    for name, changes in CANDIDATES.items():
        candidates[name] = partial(ours, file, replace(settings, **changes))
    return (
        words
        / settings.threads
        / measure.in_turns(candidates, runs, lambda train: train())
    )


# -- quality ---------------------------------------------------------------------------


def losses(text: Path | list[str]) -> str:
    """A sentence: that the loss falls."""
    settings = replace(SETTINGS, epochs=3, threads=min(2, cpu_count()))
    history = training.train(text, settings).history
    first = history[0].loss
    last = history[-1].loss
    assert last < 0.8 * first, "the loss does not fall"
    return (
        "In three epochs with 100 dimensions the loss goes from "
        f"{first:.2f} to {last:.2f}."
    )


def quality(text: Path) -> pd.DataFrame:
    """Correlations on STS-B's test set beside the program's."""
    task = tasks.load("STSBenchmark")
    left_texts = [tokenized(sentence) for sentence in task.left]
    right_texts = [tokenized(sentence) for sentence in task.right]
    settings = replace(SETTINGS, epochs=PASSES, threads=min(2, cpu_count()))
    settings = replace(settings, min_count=5, min_target_count=5)
    rows = {}
    for t, program in PROGRAM_PEARSON.items():
        model = Sent2Vec.train(text, replace(settings, subsample=t))
        left = model.encode(left_texts)
        right = model.encode(right_texts)
        plain = similarity.ucp(left, right, task.score)["pearson"]
        normalized = similarity.ucp(left, right, task.score, "z")["pearson"]
        scores = [plain, normalized]
        np.testing.assert_allclose(scores, program, rtol=0, atol=0.02)
        rows[f"{t:g}"] = [f"{number:.3f}" for number in (*scores, *program)]
    columns = [
        "cosine",
        "z-normalized",
        "the program, cosine",
        "the program, z-normalized",
    ]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis(
        "t"
    )


# -- what claims about time are judged by ----------------------------------------------


def seconds(lines: list[str], **changes: object) -> tuple[float, float]:
    """Seconds for one pass of training, and for encoding the same lines."""
    model = Sent2Vec.train(lines, replace(SHORT, **changes))
    return model.history[-1].seconds, measure.seconds(partial(model.encode, lines))


def growth(lines: list[str]) -> list[float]:
    """The growth of training and encoding time with length, and the ratio for L1.

    Growth is the exponent of seconds per sentence over its length.
    """
    words = " ".join(lines).split()
    per_sentence = []
    for length in LENGTHS:
        text = [" ".join(words[i : i + length]) for i in range(0, len(words), length)]
        per_sentence.append(np.array(seconds(text)) / len(text))
    slopes = np.polyfit(np.log(LENGTHS), np.log(per_sentence), 1)[0]
    with_penalty, _ = seconds(lines, **BIGRAMS, l1=0.0005)
    without, _ = seconds(lines, **BIGRAMS)
    return [*slopes, with_penalty / without]


def costs(
    one: pd.DataFrame, two: pd.DataFrame, lines: list[str], runs: int
) -> pd.DataFrame:
    """A row for each quantity: its mean or median over turns, with a range.

    The mean has the 95% interval; the median has the worst and the best turn.

    `one` and `two` hold `rates` with one and two threads, at the most dimensions and
    the smallest t; hours are extrapolated from them.
    """
    turns = [0.5, 0, 1]
    plain = two[WORDS].quantile(turns).to_numpy()
    one = one[NGRAMS].quantile(turns).to_numpy()
    two = two[NGRAMS].quantile(turns).to_numpy()
    seconds(lines, **BIGRAMS)  # compiles
    measured = np.array([growth(lines) for _ in range(runs)])
    intervals = np.transpose(bootstrap(mean, measured, sampling=Sampling()))
    table = dict(
        zip(["training slope", "encoding slope", "L1 ratio"], intervals, strict=True)
    )
    table["hours"] = (TWITTER / THREADS / 3600 / two)[[0, 2, 1]]
    table["parallel"] = two / one[[0, 2, 1]]
    table["order"] = two / plain[[0, 2, 1]]
    return pd.DataFrame.from_dict(
        table, orient="index", columns=["value", "low", "high"]
    )


# -- the command -----------------------------------------------------------------------


def main(folder: Path, small: bool) -> None:
    """Measure, and write the page and the table."""
    dims = DIMS
    samples = SAMPLES
    runs = TURNS
    lines = LINES
    if small:
        dims = DIMS[:1]
        samples = SAMPLES[1:]
        runs = 1
        lines = 5000
    text = catalog.find(MIX)
    learned = []
    if text and not small:
        learned = [
            f"After {PASSES} passes, by Pearson's r with the scores of STS-B's "
            "test set:",
            quality(text),
        ]
    text = text or [tokenized(sentence) for sentence in corpora.load("bible").sentences]
    learned.insert(0, losses(text))
    tables = []
    with tempfile.NamedTemporaryFile() as file:
        part = Path(file.name)
        blocks = Text(text).blocks("", False)
        first_lines = islice(chain.from_iterable(blocks), lines)
        part.write_bytes(b"".join(first_lines))
        words = training.train(part, replace(SETTINGS, dim=1)).history[-1].words
        for dim in dims:
            for t in samples:
                settings = replace(SETTINGS, dim=dim, subsample=t)
                by_threads = {}
                for threads in sorted({1, min(2, cpu_count())}):
                    measured = rates(
                        part, words, replace(settings, threads=threads), runs
                    )
                    by_threads[threads] = measured
                    table = measure.summary(
                        measured, "words/s/thread", "worst to best", "times gensim"
                    )
                    head = {"dim": dim, "t": f"{t:g}", "threads": threads}
                    table = pd.concat([pd.DataFrame(head, table.index), table], axis=1)
                    tables.append(table)
                    print(table.to_string(), flush=True)
    measure.write_page(
        folder / "sent2vec.md",
        "Training Sent2Vec",
        f"1 pass over {words:,} words, 10 negatives, words that occur at least "
        f"{SETTINGS.min_count} times; medians of {runs} turns, each candidate once per "
        "turn. The authors' C++ program, with words only and two threads, is "
        f"{PROGRAM}.",
        ["numpy", "numba", "gensim"],
        pd.concat(tables).rename_axis("candidate"),
        *learned,
    )
    verses = [
        tokenized(sentence) for sentence in corpora.load("bible-gospels:web").sentences
    ]
    turns = 20
    if small:
        verses = verses[:500]
        turns = 2
    table = costs(by_threads[1], by_threads[max(by_threads)], verses, turns)
    table.to_csv(
        folder / "sent2vec_costs.csv",
        float_format="%.4g",
        lineterminator="\n",
        index_label="quantity",
    )
    print(table)


if __name__ == "__main__":
    measure.command(__doc__, main)
