"""The sentences of a corpus that probing tasks are made from, and those made of them by a change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lib import stats
from lib.corpora import Corpus, text
from lib.probing.drawing import Candidates
from lib.run.errors import InputError

SHORTEST = 5  # words; Conneau et al. take sentences of 5 to 28, here the corpus sets the upper end

Words = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Source:
    """Sentences of `SHORTEST` words or more; of those that differ in case and punctuation alone the first.

    Attributes
    ----------
    sentences : list of str, length n
    words : for each sentence its words in lower case, punctuation left out
    clusters : int64[n], from 0 on, equal for sentences that say the same
    every : the words of all sentences, those that are too short among them: what a changed sentence must differ from
    """

    sentences: list[str]
    words: list[Words]
    clusters: np.ndarray
    every: frozenset[Words]

    def __len__(self) -> int:
        return len(self.sentences)

    @property
    def lengths(self) -> np.ndarray:
        """int64[n], words in each sentence."""
        return np.array([len(words) for words in self.words], np.int64)


def source(corpus: Corpus) -> Source:
    """What a corpus has to offer; InputError if all its sentences are too short."""
    words = [tuple(text.lower_words(sentence)) for sentence in corpus.sentences]
    first = {each: i for i, each in reversed(list(enumerate(words)))}
    kept = sorted(i for each, i in first.items() if len(each) >= SHORTEST)
    if not kept:
        raise InputError(f"corpus: {corpus.name!r} has no sentence of {SHORTEST} words or more; give another")
    clusters = np.unique(stats.clusters(np.asarray(corpus.groups)[kept]), return_inverse=True)[1]
    return Source([corpus.sentences[i] for i in kept], [words[i] for i in kept], clusters, frozenset(first))


def intact_or_inverted(
    source: Source, changed: Sequence[str | None], rng: np.random.Generator, longer: np.ndarray | None = None
) -> Candidates:
    """Each sentence that could be changed, for one of two classes, which is drawn: changed (I) or as it was (O).

    Both classes have such sentences only, so that what cannot be changed gives nothing away. A change that says what
    some other sentence says is left out.

    Parameters
    ----------
    changed : the changed sentence, None where there is none
    longer : int[n], of two clauses, which is longer: 1 the first, -1 the second, 0 neither; the change swaps them
    """
    kept, seen = [], set(source.every)
    for i, sentence in enumerate(changed):
        if sentence is not None and (words := tuple(text.lower_words(sentence))) not in seen:
            seen.add(words)
            kept.append(i)
    inverted = rng.permutation(len(kept)) % 2 == 0
    shown = [changed[i] if moved else source.sentences[i] for i, moved in zip(kept, inverted.tolist(), strict=True)]
    strata = None if longer is None else np.where(inverted, -longer[kept], longer[kept])
    return Candidates(shown, np.where(inverted, 0, 1), ("I", "O"), source.clusters[kept], strata)
