"""How fast sums and means of word vectors encode, beside trained sentence models.

The trained models are PV-DM, PV-DBOW and the recursive autoencoder (URAE).

``python -m benchmarks.localization`` writes docs/benchmarks/localization.csv, sentences
per second of processor time in each of ten runs. The replication of the paper uses it
to judge whether sums and means are cheap. Loading and training are not timed.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from benchmarks import measure
from lib import embedders

MODELS = {
    "MOWE": "glove-6b-50d",
    "SOWE": "glove-6b-50d+sowe",
    "PV-DM": "pv-dm-corpus-converged",
    "PV-DBOW": "pv-dbow-corpus-converged",
    "URAE": "urae-corpus",
}


def main(folder: Path, small: bool) -> None:
    """Measure and write the table."""
    sentences = measure.sample("lee", 200)
    fitted = {
        model: embedders.load(name).fit(sentences) for model, name in MODELS.items()
    }
    calls = {
        model: partial(embedder.encode, sentences) for model, embedder in fitted.items()
    }
    turns = measure.in_turns(calls, 2 if small else 10, measure.processor_seconds)
    rates = (
        (len(sentences) / turns)
        .round()
        .astype(int)
        .rename(lambda run: f"run {run + 1}")
    )
    rates.T.to_csv(folder / "localization.csv", index_label="model")
    print(rates.median())


if __name__ == "__main__":
    measure.command(__doc__, main)
