"""How fast the unfolding recursive autoencoder trains and encodes.

It is compared with a version that processes one node after the other.

``python -m benchmarks.urae`` writes docs/benchmarks/urae.md. One thread, as what is
trained must not depend on how many there are, and processor time. A turn of training is
one pass over all sentences, the choice of greedy trees included.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from benchmarks import measure
from lib import embedders
from lib.embedders import urae_network
from lib.embedders.urae import URAE

CORPUS = "lee"
DIM = 200
PEER = "encode, balanced, one node after the other (NumPy)"


def one_by_one(model: URAE, sentences: list[str]) -> np.ndarray:
    """The vectors of a model with balanced trees, by its definition."""
    encode, bias = map(np.array, model._arrays[:2])
    roots = []
    for sentence in sentences:
        nodes = [
            model.vectors[word]
            for word in model.tokenize(sentence)
            if word in model.vectors
        ]
        nodes = [vector / np.linalg.norm(vector) for vector in nodes]
        for left, right in urae_network.balanced(len(nodes)):
            nodes.append(
                np.tanh(encode @ np.concatenate([nodes[left], nodes[right]]) + bias)
            )
        roots.append(nodes[-1])
    return np.array(roots)


def main(folder: Path, small: bool) -> None:
    """Measure and write the page."""
    sentences = measure.sample(CORPUS, 100 if small else 500)
    sentences = [sentence for sentence in sentences if len(sentence.split()) > 3]
    calls = {}
    for trees in ("balanced", "greedy"):  # those that need no parser
        model = embedders.load(f"urae-corpus-{DIM}d", trees=trees, epochs=1)
        model.fit(sentences)
        if trees == "balanced":
            calls[PEER] = partial(one_by_one, model, sentences)
            np.testing.assert_allclose(
                model.encode(sentences), calls[PEER](), rtol=0, atol=1e-5
            )
        calls[f"encode, {trees}"] = partial(model.encode, sentences)
        calls[f"train, {trees}"] = partial(model.fit, sentences)
    turns = measure.in_turns(calls, 3, measure.processor_seconds)
    rates = measure.summary(
        len(sentences) / turns, "sentences/s", "worst to best"
    ).rename_axis("what")
    words = np.mean([len(sentence.split()) for sentence in sentences])
    about = (
        f"{len(sentences):,} sentences of `{CORPUS}`, {words:.0f} words on average, "
        f"{DIM} dimensions"
    )
    measure.write_page(
        folder / "urae.md",
        "Unfolding recursive autoencoder",
        f"One thread, processor time. {about}.",
        ["torch", "numpy"],
        rates,
    )


if __name__ == "__main__":
    measure.command(__doc__, main)
