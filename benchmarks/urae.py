"""How fast the unfolding recursive autoencoder trains and encodes, beside the same done one node after the other.

``python -m benchmarks.urae`` writes docs/benchmarks/urae.md. One thread, as what is trained must not depend on how many
there are, and processor time. A turn of training is one pass over all sentences, the choice of greedy trees included.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd

from benchmarks import measure
from benchmarks.encode import sample
from lib import embedders
from lib.embedders import urae_network
from lib.embedders.urae import URAE
from lib.run import paths
from lib.run.parameters import in_range

PAGE = paths.ROOT / "docs" / "benchmarks" / "urae.md"
CORPUS, DIM, RUNS = "lee", 200, 3
PEER = "encode, balanced, one node after the other (NumPy)"


def models(sentences: list[str]) -> dict[str, URAE]:
    """An autoencoder with each kind of trees that needs no parser, trained on the sentences for one epoch."""
    made = {}
    for trees in ("balanced", "greedy"):
        embedder = embedders.load(f"urae-corpus-{DIM}d", trees=trees, epochs=1, sentences=len(sentences))
        made[trees] = embedder.fit(sentences)
    return made


def one_by_one(model: URAE, sentences: list[str]) -> np.ndarray:
    """The vectors of a model with balanced trees, by its definition."""
    encode, bias = model._arrays[:2]
    roots = []
    for sentence in sentences:
        nodes = [model.vectors[word] for word in model.tokenize(sentence) if word in model.vectors]
        nodes = [vector / np.linalg.norm(vector) for vector in nodes]
        for left, right in urae_network.balanced(len(nodes)):
            nodes.append(np.tanh(encode @ np.concatenate([nodes[left], nodes[right]]) + bias))
        roots.append(nodes[-1])
    return np.array(roots)


def train(model: URAE, sentences: list[str]) -> None:
    """One pass over the sentences, and over them again for the word vectors, which are in the cache."""
    model.fit(sentences)


def candidates(sentences: list[str]) -> dict[str, Callable[[], object]]:
    """What is timed, the peer first, after a look at whether they agree."""
    made = models(sentences)
    difference = np.abs(one_by_one(made["balanced"], sentences) - made["balanced"].encode(sentences)).max()
    assert difference < 1e-5, f"the batched vectors differ by {difference}"
    calls: dict[str, Callable[[], object]] = {PEER: partial(one_by_one, made["balanced"], sentences)}
    for trees, model in made.items():
        calls[f"encode, {trees}"] = partial(model.encode, sentences)
        calls[f"train, {trees}"] = partial(train, model, sentences)
    return calls


def main(arguments: list[str] | None = None) -> int:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.urae", description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=500, metavar="N", help="of the text (default: 500)")
    options = parser.parse_args(arguments)
    in_range("sentences", options.sentences, 100, 10**6)
    sentences = [sentence for sentence in sample(CORPUS, options.sentences) if len(sentence.split()) > 3]
    seconds = measure.compare(candidates(sentences), RUNS, time.process_time)
    rates = pd.DataFrame(
        {
            "sentences/s": (len(sentences) / seconds["median"]).map("{:,.0f}".format),
            "worst to best": [
                f"{len(sentences) / most:,.0f} to {len(sentences) / least:,.0f}"
                for least, most in zip(seconds["least"], seconds["most"], strict=True)
            ],
        },
        index=seconds.index.rename("what"),
    )
    words = np.mean([len(sentence.split()) for sentence in sentences])
    machine = f"{measure.machine()}; one thread, processor time. {measure.versions('torch', 'numpy')}."
    about = f"{len(sentences):,} sentences of `{CORPUS}`, {words:.0f} words on average, {DIM} dimensions."
    page = f"# Unfolding recursive autoencoder\n\n{machine} {about}\n\n{measure.markdown(rates)}\n"
    PAGE.write_text(page, encoding="utf-8")
    print(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
