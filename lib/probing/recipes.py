"""The sentences of a corpus that probing tasks are made from, and the recipe of each task."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from lib import stats
from lib.corpora import Corpus, text
from lib.probing.drawing import Candidates, Options, Sizes, only
from lib.probing.parsing import Parse
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


# -- words ------------------------------------------------------------------------------------------

BINS = 6  # of lengths
MOST_WORDS = 1000
SENTENCES_A_WORD = 20  # of training, at least, where the number of words is ours to choose
LONG_WORD = 4  # letters, at least
FEWER = 0.8  # times so many words are tried next

_QUOTES = re.compile(r"""["\u201c\u201d\u201e\u00ab\u00bb]|``|''""")
_WHITE = re.compile(r"(\s+)")
_END = re.compile(r"[.?!:][^\w]*$")  # of a sentence, inside of what the corpus calls one


def sentence_length(source: Source, bins: int) -> Options:
    """SentLen: the number of words, in bins that about equally many sentences fall into.

    Raises InputError if there are fewer lengths than bins.
    """
    lengths = source.lengths
    inner = np.quantile(lengths, np.arange(1, bins) / bins, method="higher")
    starts = np.unique(np.append(lengths.min(), inner))
    if len(starts) < bins:
        raise InputError(f"classes: {bins} is not accepted; the sentences' lengths make {len(starts)} bins: give fewer")
    ends = np.append(starts[1:] - 1, lengths.max())
    classes = tuple(f"{low}-{high}" if low < high else f"{low}" for low, high in zip(starts, ends, strict=True))
    labels = np.searchsorted(starts, lengths, side="right") - 1
    return only(Candidates(source.sentences, labels, classes, source.clusters))


# -- word content -------------------------------------------------------------------------------


def word_content(source: Source, words: int | None) -> Options:
    """WC: which of some words it contains, once, and none of the others.

    The words are neighbors in the list by frequency, as rare as can be; if `words` is None, as many as can be with
    `SENTENCES_A_WORD` in training.
    """
    vocabulary, counts = _word_counts(source)

    def options(sizes: Sizes) -> Iterator[Candidates]:
        number = words or max(2, min(MOST_WORDS, sizes.train // SENTENCES_A_WORD))
        while number >= 2:
            rows = sum(sizes.rows(number))
            frequent = int((counts.sum(axis=0) >= rows).sum())
            for start in range(frequent - number, -1, -max(1, number // 4)):
                inside = counts[:, start : start + number]
                alone = np.flatnonzero(inside.sum(axis=1) == 1)
                labels = inside[alone].indices.astype(np.int64)
                if np.bincount(labels, minlength=number).min() >= rows:
                    chosen = [source.sentences[i] for i in alone.tolist()]
                    yield Candidates(chosen, labels, tuple(vocabulary[start : start + number]), source.clusters[alone])
            number = 0 if words else int(FEWER * number)

    return options


def _word_counts(source: Source) -> tuple[list[str], sp.csr_array]:
    """Words of letters, the most frequent first; and how often each sentence has each of them, int32[n, words]."""
    long = [[word for word in words if len(word) >= LONG_WORD and word.isalpha()] for words in source.words]
    total = Counter(word for words in long for word in words)
    vocabulary = sorted(total, key=lambda word: (-total[word], word))
    column = {word: i for i, word in enumerate(vocabulary)}
    rows = np.repeat(np.arange(len(long)), [len(words) for words in long])
    columns = np.array([column[word] for words in long for word in words], np.int64)
    ones = np.ones(len(rows), np.int32)
    return vocabulary, sp.csr_array((ones, (rows, columns)), shape=(len(long), len(vocabulary)))


# -- bigram shift -------------------------------------------------------------------------------


def bigram_shift(source: Source, rng: np.random.Generator) -> Options:
    """BShift: whether two adjacent words were swapped."""
    drawn = rng.random(len(source)).tolist()
    changed = [shift(sentence, draw) for sentence, draw in zip(source.sentences, drawn, strict=True)]
    return only(intact_or_inverted(source, changed, rng))


def shift(sentence: str, draw: float) -> str | None:
    """The sentence with two adjacent words swapped; None if there are no two, or if it has double quotes.

    The two stand beside each other with nothing but white space between them, neither opens a sentence, and they
    differ. Punctuation and white space stay where they are: "he went to Rome." becomes "he went Rome to."

    Parameters
    ----------
    draw : which of the places, in [0, 1)
    """
    sentence = text.mend(sentence)
    if _QUOTES.search(sentence):
        return None
    pieces = _WHITE.split(sentence.strip())
    words, cores = pieces[::2], [_core(piece) for piece in pieces[::2]]
    inside = (i for i in range(1, len(words) - 1) if not _END.search(words[i - 1]))
    places = [i for i in inside if _adjacent(cores[i], cores[i + 1])]
    if not places:
        return None
    place = places[int(draw * len(places))]
    (before, left, _), (_, right, after) = cores[place], cores[place + 1]
    pieces[2 * place], pieces[2 * place + 2] = before + right, left + after
    swapped = "".join(pieces)
    # A tokenizer may part a word from other punctuation than it had; then more than the order has changed.
    return swapped if sorted(text.word_tokens(swapped)) == sorted(text.word_tokens(sentence)) else None


def _core(piece: str) -> tuple[str, str, str] | None:
    """What stands before a piece's word, the word, and what follows it; None unless it has one word."""
    tokens = text.word_tokens(piece)
    words = [i for i, token in enumerate(tokens) if any(map(str.isalnum, token))]
    if len(words) != 1:
        return None
    at = words[0]
    return "".join(tokens[:at]), tokens[at], "".join(tokens[at + 1 :])


def _adjacent(first: tuple[str, str, str] | None, second: tuple[str, str, str] | None) -> bool:
    if first is None or second is None:
        return False
    return not first[2] and not second[0] and first[1].lower() != second[1].lower()


# -- parses -----------------------------------------------------------------------------------------

MOST_DEPTHS = 8  # as in Conneau et al., whose trees are 5 to 12 deep

NUMBERS = ("NN", "NNS")
# The part of a Parse that has class and target word, and the classes.
MARKED = {"Tense": ("tense", ("PAST", "PRES")), "SubjNum": ("subject", NUMBERS), "ObjNum": ("object", NUMBERS)}


def marked(source: Source, name: str, parsed: Sequence[Parse]) -> Options:
    """Tense, SubjNum, ObjNum: the class that one word of the sentence is marked for."""
    field, classes = MARKED[name]
    parts = {i: part for i, parse in enumerate(parsed) if (part := getattr(parse, field))}
    kept, labels = list(parts), np.array([classes.index(part.label) for part in parts.values()], np.int64)
    return only(
        Candidates(
            [source.sentences[i] for i in kept],
            labels,
            classes,
            source.clusters[kept],
            targets=[part.target for part in parts.values()],
        )
    )


def coordination_inversion(source: Source, parsed: Sequence[Parse], rng: np.random.Generator) -> Options:
    """CoordInv: whether two clauses have changed places; in both classes the first is as often the longer one."""
    longer = np.array([parse.inversion.longer if parse.inversion else 0 for parse in parsed], np.int64)
    changed = [parse.inversion.sentence if parse.inversion else None for parse in parsed]
    return only(intact_or_inverted(source, changed, rng, longer))


def tree_depth(source: Source, parsed: Sequence[Parse], number: int | None) -> Options:
    """TreeDepth: the depth of the tree; of each number of words there are equally many sentences of each depth.

    The classes are `number` successive depths; if it is None, as many as can be, and no more than `MOST_DEPTHS`. Of
    equally many, those come first that have the most sentences of equal length.
    """
    known = np.array([i for i, parse in enumerate(parsed) if parse.depth is not None], np.int64)
    depths = np.array([parsed[i].depth for i in known.tolist()], np.int64)
    lengths = source.lengths[known]
    table = np.zeros((depths.max(initial=0) + 1, lengths.max(initial=0) + 1), np.int64)
    np.add.at(table, (depths, lengths), 1)

    def of_depths(start: int, classes: int) -> Candidates:
        inside = np.flatnonzero((depths >= start) & (depths < start + classes))
        return Candidates(
            [source.sentences[i] for i in known[inside].tolist()],
            depths[inside] - start,
            tuple(str(start + step) for step in range(classes)),
            source.clusters[known[inside]],
            lengths[inside],
        )

    def options(sizes: Sizes) -> Iterator[Candidates]:
        for classes in (number,) if number else range(min(MOST_DEPTHS, len(table)), 1, -1):
            starts = range(len(table) - classes + 1)
            room = np.array([table[start : start + classes].min(axis=0).sum() for start in starts], np.int64)
            for start in np.argsort(-room, kind="stable").tolist():
                if room[start] >= sum(sizes.rows(classes)):
                    yield of_depths(start, classes)

    return options
