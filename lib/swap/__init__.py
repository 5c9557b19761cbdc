"""One side of a search in another's place: what users would notice.

`compare` does it from Python; ``sentence-swap``, or ``python -m lib.swap``, is the
command. `labels`, `floors` and `bridge` say more of what `compare` returns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from lib import stats
from lib.corpora import Corpus
from lib.swap.comparison import Swap, between
from lib.swap.searching import Searched, search
from lib.swap.sides import Prompts, Side, load_embedder, opened
from lib.swap.texts import QUERIES, SEED, SearchTask, make_queries
from lib.swap.vectors import Vectors

__all__ = [
    "QUERIES",
    "Drift",
    "Prompts",
    "SearchTask",
    "Searched",
    "Side",
    "Swap",
    "Vectors",
    "between",
    "compare",
    "evaluator",
    "load_embedder",
    "make_queries",
    "opened",
    "search",
]


def compare(
    old: Any,
    new: Any,
    sentences: Corpus | Sequence[str],
    k: int = 10,
    queries: int | Sequence[str] = QUERIES,
    seed: int = SEED,
    weights: Sequence[float] | None = None,
) -> Swap:
    """Whether a new embedder finds what the old one finds, on a text of one's own.

    `old` and `new` are as for `search`: names, objects, functions, matrices with a row
    for each sentence (arrays, lists, data frames, tensors), or `Vectors`, which have
    those of the queries, too. `queries` and `weights` are as for `make_queries`, and
    `k` is how many results users see. Raises InputError as both do.

    Examples
    --------
    >>> from lib import swap
    >>> sentences = [f"{word} number {i}" for word in ("cat", "dog") for i in range(9)]
    >>> found = swap.compare("wordllama", "wordllama@int8", sentences, k=3)
    >>> bool(found.numbers.loc["n2o", "value"] > 0.9)
    True
    """
    sides = [opened(old, "old"), opened(new, "new")]
    task = make_queries(sentences, queries, seed, weights)
    before, after = (search(side, task, k) for side in sides)
    return between(task, before, after, stats.Sampling(seed))


# -- fine-tuning -----------------------------------------------------------------------


class Drift:
    """How many of its original neighbors an embedder still finds during training.

    Made by `evaluator`; sentence-transformers' trainer calls it as an evaluator.
    """

    greater_is_better = True

    def __init__(
        self, old: Any, sentences: Any, k: int, queries: int | Sequence[str], name: str
    ) -> None:
        self.prefix = f"{name}_" if name else ""
        self.primary_metric = f"{self.prefix}n2o"
        self.k = k
        self.task = make_queries(sentences, queries)
        self.old = search(old, self.task, k, "old")

    def __call__(
        self,
        model: Any,
        output_path: str | None = None,
        epoch: int = -1,
        steps: int = -1,
    ) -> dict[str, float]:
        """N2O with the old embedder, and the shares of queries that lose results.

        With an `output_path`, a line is added to the CSV file there.
        """
        new = search(model, self.task, self.k, "new")
        values = between(self.task, self.old, new).per_query.mean()
        if output_path is not None:
            folder = Path(output_path)
            folder.mkdir(parents=True, exist_ok=True)
            file = folder / f"{self.prefix}n2o_evaluation_results.csv"
            line = pd.DataFrame([{"epoch": epoch, "steps": steps, **values}])
            line.to_csv(file, mode="a", index=False, header=not file.exists())
        return values.add_prefix(self.prefix).to_dict()


def evaluator(
    old: Any,
    sentences: Corpus | Sequence[str],
    k: int = 10,
    queries: int | Sequence[str] = QUERIES,
    name: str = "",
) -> Callable[..., dict[str, float]]:
    """A `Drift`, which is an evaluator of sentence-transformers if that is installed.

    `old` is the embedder before training, as for `search`. It is searched immediately,
    so it may be the model that is then trained. `name` precedes the metrics' names.
    """
    bases = (Drift,)
    try:
        from sentence_transformers.base.evaluation import SentenceEvaluator

        bases = (Drift, SentenceEvaluator)
    except ImportError:
        pass
    return type("N2OEvaluator", bases, {})(old, sentences, k, queries, name)
