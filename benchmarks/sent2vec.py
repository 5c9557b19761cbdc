"""How fast Sent2Vec trains, beside gensim's C-BOW on the same text in the same minutes; what it learns comes first.

``python -m benchmarks.sent2vec`` writes docs/benchmarks/sent2vec.md; ``--quick`` is a look that writes nothing. A turn
is one training of each candidate. Rates are words of the vocabulary over seconds and threads, without the passes that
count and number words, which gensim makes too.
"""

from __future__ import annotations

import argparse
import gzip
import re
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks import measure
from lib import catalog, corpora, similarity, tasks
from lib.run import paths
from lib.run.environment import cores
from lib.run.errors import InputError
from lib.sent2vec import Sent2Vec, training
from lib.sent2vec.settings import Settings

PAGE = paths.ROOT / "docs" / "benchmarks" / "sent2vec.md"
MIX = "sent2vec/mix.txt.gz"
DIMS, SAMPLES, EPOCHS, RUNS = (100, 700), (1e-4, 1e-5), 1, 3
LINES = 40_000  # of the text, that rates are measured on: all of them take half an hour
CBOW = "gensim C-BOW, window 5"
SETTINGS = Settings(epochs=EPOCHS, negatives=10, min_count=8, min_target_count=8)
CANDIDATES = {  # what differs from the settings above
    "words": {},
    "words and bigrams, K = 4": {"word_ngrams": 2, "bucket": 500_000, "dropout_k": 4},
    "words, paper's variant": {"variant": "paper"},
}
# The authors' program, made by its Makefile, on two cores: words/s/thread over those of gensim's C-BOW in the same run,
# and what is to be reached; its correlations on STS-B's test set, by cosine and z-normalized, after 30 of what it calls
# epochs of MIX, which are 31.4 passes.
PROGRAM = {100: 1.0, 700: 0.4}
BAR = {100: 1.5, 700: 0.65}
PROGRAM_PEARSON = {1e-3: (0.4995, 0.559), 1e-4: (0.456, 0.519)}
PASSES = 31
TOKEN = re.compile(r"\w+|[^\w\s]")


def tokenized(sentence: str) -> str:
    return " ".join(TOKEN.findall(sentence.lower()))


def text_file(source: str | None, folder: Path) -> Path:
    """The file to train on: one that is given, the papers' data's unpacked (gensim asks for that), or the Bibles."""
    if source:
        return paths.from_root(source)
    file = folder / "text.txt"
    if found := catalog.find(MIX):
        file.write_bytes(gzip.decompress(found.read_bytes()) if found.suffix == ".gz" else found.read_bytes())
    else:
        file.write_text("".join(f"{tokenized(s)}\n" for s in corpora.load("bible").sentences), encoding="utf-8")
    return file


def beginning(file: Path, folder: Path) -> Path:
    """A file with the first `LINES` lines of another."""
    part = folder / "part.txt"
    with file.open("rb") as whole, part.open("wb") as target:
        target.writelines(islice(whole, LINES))
    return part


# -- rates --------------------------------------------------------------------------------------


def ours(file: Path, settings: Settings) -> Callable[[], float]:
    """A function that trains once and returns words/s/thread."""

    def run() -> float:
        last = training.train(file, settings).history[-1]
        return last.words / last.seconds / settings.threads

    return run


def cbow(file: Path, words: int, settings: Settings) -> Callable[[], float]:
    """The same for gensim; `words` are those of a pass."""
    from gensim.models import Word2Vec

    model = Word2Vec(
        vector_size=settings.dim, window=5, negative=settings.negatives, sample=settings.subsample,
        min_count=settings.min_count, workers=settings.threads, sg=0, ns_exponent=0.5,
    )  # fmt: skip
    model.build_vocab(corpus_file=str(file))
    size = {"total_examples": model.corpus_count, "total_words": model.corpus_total_words}

    def run() -> float:
        start = time.perf_counter()
        model.train(corpus_file=str(file), epochs=settings.epochs, **size)
        return words * settings.epochs / (time.perf_counter() - start) / settings.threads

    return run


def in_turns(candidates: dict[str, Callable[[], float]], runs: int) -> pd.DataFrame:
    """Medians over the turns; each candidate's ratio to the first one is taken turn by turn."""
    for call in candidates.values():
        call()
    rates = np.array([[call() for call in candidates.values()] for _ in range(runs)])
    spans = zip(rates.min(axis=0), rates.max(axis=0), strict=True)
    table = {
        "words/s/thread": [f"{rate:,.0f}" for rate in np.median(rates, axis=0)],
        "worst to best": [f"{low:,.0f} to {high:,.0f}" for low, high in spans],
        "times gensim": [f"{ratio:.2f}" for ratio in np.median(rates / rates[:, :1], axis=0)],
    }
    return pd.DataFrame(table, index=pd.Index(list(candidates), name="candidate"))


def rows(file: Path, words: int, settings: Settings, names: list[str], runs: int) -> pd.DataFrame:
    """The rates of these candidates with these settings."""
    candidates = {CBOW: cbow(file, words, settings)}
    candidates |= {f"Sent2Vec, {name}": ours(file, replace(settings, **CANDIDATES[name])) for name in names}
    table = in_turns(candidates, runs)
    table.insert(0, "dim", settings.dim)
    table.insert(1, "t", f"{settings.subsample:g}")
    table.insert(2, "threads", settings.threads)
    print(table.to_string(), flush=True)
    return table


# -- quality ------------------------------------------------------------------------------------


def losses(file: Path) -> str:
    """A sentence: that the loss falls."""
    history = training.train(file, replace(SETTINGS, epochs=3, threads=min(2, cores()))).history
    assert history[-1].loss < 0.8 * history[0].loss, "the loss does not fall"
    return f"In three epochs with 100 dimensions the loss goes from {history[0].loss:.2f} to {history[-1].loss:.2f}."


def quality(file: Path) -> str:
    """A table: correlations on STS-B's test set beside the program's; a sentence where that is not at hand."""
    try:
        task = tasks.load("STSBenchmark")
    except InputError as error:
        return f"Not compared with the program: {error}."
    left, right = ([tokenized(sentence) for sentence in side] for side in (task.left, task.right))
    settings = replace(SETTINGS, epochs=PASSES, min_count=5, min_target_count=5, threads=min(2, cores()))
    found = {}
    for t, program in PROGRAM_PEARSON.items():
        model = Sent2Vec.train(file, replace(settings, subsample=t))
        sides = model.encode(left), model.encode(right)
        scores = [similarity.ucp(*sides, task.score, normalize)["pearson"] for normalize in (None, "z")]
        assert all(abs(a - b) < 0.02 for a, b in zip(scores, program, strict=True)), f"{scores}, the program {program}"
        found[f"{t:g}"] = [f"{number:.3f}" for number in (*scores, *program)]
    columns = ["cosine", "z-normalized", "the program, cosine", "the program, z-normalized"]
    return measure.markdown(pd.DataFrame.from_dict(found, orient="index", columns=columns).rename_axis("t"))


# -- the command --------------------------------------------------------------------------------


def main(arguments: list[str] | None = None) -> int:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sent2vec", description=__doc__.splitlines()[0])
    parser.add_argument("--text", help=f"a file with one tokenized sentence a line (default: {MIX}, or the Bibles)")
    parser.add_argument("--quick", action="store_true", help="one dimension, one t, two turns, nothing written")
    options = parser.parse_args(arguments)
    dims, samples, runs = (DIMS[:1], SAMPLES[1:], 2) if options.quick else (DIMS, SAMPLES, RUNS)
    with tempfile.TemporaryDirectory() as folder:
        file = text_file(options.text, Path(folder))
        learned = losses(file)
        print(learned, flush=True)
        if not (options.quick or options.text) and catalog.find(MIX):
            learned += f" After {PASSES} passes, by Pearson's r with the scores of STS-B's test set:\n\n{quality(file)}"
        file = beginning(file, Path(folder))
        words = training.train(file, replace(SETTINGS, epochs=1, dim=1)).history[-1].words
        names = list(CANDIDATES)
        parts = [
            rows(file, words, replace(SETTINGS, dim=dim, subsample=t, threads=threads), names, runs)
            for dim in dims
            for t in samples
            for threads in sorted({1, min(2, cores())})
        ]
    if not options.quick:
        PAGE.write_text(_page(pd.concat(parts), learned, words), encoding="utf-8")
    return 0


def _page(table: pd.DataFrame, learned: str, words: int) -> str:
    packages = measure.versions("numpy", "numba", "gensim")
    bars = ", ".join(f"{dim}-d {PROGRAM[dim]:g} times gensim's (to be reached: {BAR[dim]:g})" for dim in DIMS)
    return (
        f"# Training Sent2Vec\n\n{measure.machine()}; {packages}. {EPOCHS} pass over {words:,} words, 10 "
        f"negatives, words that occur {SETTINGS.min_count} times; medians of {RUNS} turns, each candidate once in a "
        f"turn. The authors' C++ program with words only and two threads, by the same ratio: {bars}.\n\n"
        f"{measure.markdown(table)}\n\n{learned}\n"
    )


if __name__ == "__main__":
    sys.exit(main())
