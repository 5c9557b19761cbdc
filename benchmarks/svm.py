"""How fast the linear SVM of semantic localization is fitted, beside scikit-learn's.

``python -m benchmarks.svm`` writes docs/benchmarks/svm.md. Both learn one translation
of 600 verses, a group each, and place the other; they must place every verse alike.
One thread, processor time.
"""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from benchmarks import measure
from lib import embedders, localization, tasks

NAMES = ("bow", "glove-6b-50d", "minilm-avg", "wordllama")
ACCURATE = {"tol": localization.TOLERANCE, "max_iter": 100_000}
CLASSIFIERS = {
    "scikit-learn, primal": partial(LinearSVC, dual=False, **ACCURATE),
    "scikit-learn, dual": partial(LinearSVC, dual=True, random_state=0, **ACCURATE),
    "ours": localization.SVM,
}


def placed(classifier: type, learned: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """The predicted groups of `asked`, from one learned sentence of each group."""
    machine = classifier(C=1.0, class_weight="balanced")
    return machine.fit(learned, np.arange(learned.shape[0])).predict(asked)


def main(folder: Path, small: bool) -> None:
    """Measure and write the page."""
    sentences = tasks.load("Verses-far", "all").sentences
    half = len(sentences) // 2
    warnings.filterwarnings("ignore", "The number of unique classes")
    verses = 60 if small else half
    rows = {}
    for name in NAMES:
        vectors = embedders.load(name).fit_encode(sentences)
        scaled = localization.OneScale().fit_transform(localization.double(vectors))
        sides = scaled[:verses], scaled[half : half + verses]
        calls = {
            which: partial(placed, classifier, *sides)
            for which, classifier in CLASSIFIERS.items()
        }
        with threadpool_limits(1):
            turns = measure.in_turns(
                calls, 1 if small else 3, measure.processor_seconds, tolerance=0
            )
        seconds = turns.median().map("{:.2f}".format)
        peers = turns.drop(columns="ours").min(axis=1)
        seconds["ours, times as fast"] = f"{(peers / turns['ours']).median():.1f}"
        rows[name] = seconds
    measure.write_page(
        folder / "svm.md",
        "Linear SVM with many groups",
        f"{verses} verses in two translations: train on one, test on the other; C = 1. "
        "Median seconds of three runs on one thread. All three classifiers agree on "
        "every verse. The last column compares ours with the faster of scikit-learn's "
        "two.",
        ["scikit-learn", "numba"],
        pd.DataFrame(rows).T.rename_axis("vectors"),
    )


if __name__ == "__main__":
    measure.command(__doc__, main)
