"""The recipes of probing tasks that need a parse.

Penn Treebank tags and ClearNLP's relations are those of `audit.probing.parser`. The
clause of a sentence's root is its main clause.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.random import Generator

from audit.probing import parser
from audit.probing.recipes import Candidates

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

LONGEST = 28  # words
TENSES = {"VBD": "PAST", "VBP": "PRES", "VBZ": "PRES"}
NUMBERS = {"NN": "NN", "NNS": "NNS"}
SUBJECTS = ("nsubj", "nsubjpass")
# Sentences with the same target word: at least so many, and at most this share of all,
# since "said" heads a third of a newspaper's.
FEWEST, MOST = 5, 0.05
# Of a noun or verb that is replaced, as in Conneau et al.
FREQUENCIES = (40, 400)
REPLACED = ("NN", "NNS", "VB", "VBD", "VBG", "VBN", "VBP", "VBZ")
DEPTHS = 7  # classes at most


def _parsed(source: pd.DataFrame) -> pd.DataFrame:
    """The sentences of at most `LONGEST` words whose parse has one root.

    Two more columns: doc, the parse, and root.
    """
    table = source[source["length"] <= LONGEST]
    docs = parser.parsed(tuple(table["sentence"]))
    roots = [[token for token in doc if token.head == token] for doc in docs]
    table = table.assign(doc=docs, root=[each[0] for each in roots])
    return table[[len(each) == 1 for each in roots]]


def _only(token: Token, *relations: str) -> Token | None:
    """The one word that stands in such a relation to a word."""
    found = [child for child in token.children if child.dep_ in relations]
    return found[0] if len(found) == 1 else None


# -- a property of one word ------------------------------------------------------------


def _of_word(tags: dict[str, str], *relations: str) -> Callable:
    """A recipe that asks for the tag of one word, whose forms are in one split each.

    The word is the root, or the one that stands in such a relation to it.
    """

    def recipe(
        source: pd.DataFrame, sizes: Sequence[int], rng: Generator
    ) -> Iterator[Candidates]:
        table = _parsed(source)
        words = table["root"]
        if relations:
            words = words.map(lambda verb: _only(verb, *relations)).dropna()
        words = words[[word.tag_ in tags and word.is_alpha for word in words]]
        names = words.map(lambda word: tags[word.tag_])
        classes = sorted(set(tags.values()))
        found = {"label": names.map(classes.index), "target": words.map(lower)}
        table = table.loc[words.index].assign(**found)
        table = table.sort_values("order")
        of_target = table.groupby("target")["target"]
        is_first = of_target.cumcount() < max(FEWEST, MOST * len(table))
        yield table[is_first & (of_target.transform("size") >= FEWEST)], classes

    return recipe


def lower(word: Token) -> str:
    """A word in lower case."""
    return word.lower_


# -- depth -----------------------------------------------------------------------------


def depth(doc: Doc) -> int:
    """How many words lie on the longest path down from the root."""
    return max(1 + sum(1 for _ in token.ancestors) for token in doc)


def tree_depth(
    source: pd.DataFrame, sizes: Sequence[int], rng: Generator
) -> Iterator[Candidates]:
    """TreeDepth: the depth of the dependency tree.

    The classes are neighboring depths, as many as possible. Among sentences of one
    length all are equally frequent, so length says nothing about depth.
    """
    table = _parsed(source)
    table["depth"] = table["doc"].map(depth)
    counts = table.groupby(["length", "depth"]).size().unstack(fill_value=0)
    for number in range(DEPTHS, 1, -1):
        spans = [counts.columns[start:][:number] for start in range(counts.shape[1])]
        spans = [span for span in spans if len(span) == number]
        if not spans:
            continue
        span = max(spans, key=lambda span: counts[span].min(axis=1).sum())
        wanted = counts[span].min(axis=1)
        kept = table[table["depth"].isin(span)]
        place = kept.sort_values("order").groupby(["length", "depth"]).cumcount()
        kept = kept[place.reindex(kept.index) < kept["length"].map(wanted)]
        label = kept["depth"].map(list(span).index)
        yield kept.assign(label=label), [str(value) for value in span]


# -- changed sentences -----------------------------------------------------------------


def odd_man_out(
    source: pd.DataFrame, sizes: Sequence[int], rng: Generator
) -> Iterator[Candidates]:
    """SOMO: whether a noun or verb was replaced (C) or not (O).

    By one with the same tag that stands as often, in powers of two, behind the word
    before it and in front of the word after it. The word at this place, replaced or
    not, is in one split only.
    """
    table = _parsed(source)
    replace = Replacements(table["doc"])
    found = [replace.one(doc, rng) for doc in table["doc"]]
    table = table.assign(found=found).dropna(subset="found")
    is_changed = rng.permutation(len(table)) % 2 == 0
    shown = []
    for row, change in zip(table.itertuples(), is_changed, strict=True):
        word, other = row.found
        start, end = word.idx, word.idx + len(word)
        changed = row.sentence[:start] + other + row.sentence[end:]
        shown.append((changed, other) if change else (row.sentence, lower(word)))
    table[["sentence", "target"]] = shown
    yield table.assign(label=np.where(is_changed, 0, 1)), ("C", "O")


class Replacements:
    """What can stand in the place of a noun or verb of some parses."""

    def __init__(self, docs: Iterable[Doc]) -> None:
        self.frequency = Counter(lower(token) for doc in docs for token in doc)
        self.pairs = Counter()
        self.tagged = defaultdict(set)  # words that may be replaced, by their tag
        self.after, self.before = defaultdict(set), defaultdict(set)
        for doc in docs:
            self.pairs.update(pairwise(map(lower, doc)))
            for token in doc:
                if self.is_replaced(token):
                    self.tagged[token.tag_].add(lower(token))
        for left, right in self.pairs:
            self.after[left].add(right)
            self.before[right].add(left)

    def is_replaced(self, token: Token) -> bool:
        """Whether it is a noun or verb that is neither rare nor frequent."""
        low, high = FREQUENCIES
        is_word = token.is_lower and token.is_alpha and token.tag_ in REPLACED
        return is_word and low <= self.frequency[lower(token)] <= high

    def one(self, doc: Doc, rng: Generator) -> tuple[Token, str] | None:
        """A word of a sentence and what takes its place, both at random."""
        places = [token for token in doc[1:-1] if self.is_replaced(token)]
        for place in rng.permutation(len(places)):
            if others := self.others(places[place]):
                return places[place], others[rng.integers(len(others))]
        return None

    def others(self, token: Token) -> list[str]:
        """The words that can stand in its place."""
        left, right = lower(token.nbor(-1)), lower(token.nbor(1))

        def counts(word: str) -> list[int]:
            both = self.pairs[left, word], self.pairs[word, right]
            return [count.bit_length() for count in both]

        own = lower(token)
        known = self.tagged[token.tag_] & self.after[left] & self.before[right]
        return sorted(w for w in known - {own} if counts(w) == counts(own))


def coordination_inversion(
    source: pd.DataFrame, sizes: Sequence[int], rng: Generator
) -> Iterator[Candidates]:
    """CoordInv: whether two coordinated main clauses changed places (I) or not (O).

    Which of them is longer says nothing: half of each kind is inverted.
    """
    table = _parsed(source)
    table["found"] = list(map(inverted, table["doc"], table["root"]))
    table = table.dropna(subset="found")
    table = table.iloc[rng.permutation(len(table))]
    longer = table["found"].str[1]
    is_changed = table.groupby(longer).cumcount() % 2 == 0
    shown = table["found"].str[0].where(is_changed, table["sentence"])
    yield table.assign(sentence=shown, label=np.where(is_changed, 0, 1)), ("I", "O")


def inverted(doc: Doc, verb: Token) -> tuple[str, int] | None:
    """The sentence with its two clauses swapped, and which of them is longer (a sign).

    None unless one conjunction, the only one, joins two clauses that have a subject
    each and make up the whole sentence.
    """
    second = _only(verb, "conj")
    found = [token for token in doc if token.tag_ == "CC"]
    if second is None or len(found) != 1 or found[0].head != verb:
        return None
    middle, end = found[0].i, len(doc) - 1
    if second.left_edge.i != middle + 1 or second.right_edge.i < end - 1:
        return None  # a period belongs to the last clause in some parses
    if not (doc[end].is_punct and middle > 1):
        return None
    if not all(_only(each, *SUBJECTS, "expl") for each in (verb, second)):
        return None
    comma = doc[middle - 1].text == ","
    first, last = doc[: middle - comma], doc[middle + 1 : end]
    opening = first.text
    if first[0].tag_ not in ("NNP", "NNPS") and first[0].text != "I":
        opening = opening[0].lower() + opening[1:]
    link = ", " * comma or " "
    text = f"{last.text[0].upper()}{last.text[1:]}{link}{doc[middle]} {opening}"
    return text + doc[end].text, int(np.sign(len(first) - len(last)))


RECIPES = {
    "TreeDepth": tree_depth,
    "Tense": _of_word(TENSES),
    "SubjNum": _of_word(NUMBERS, *SUBJECTS),
    "ObjNum": _of_word(NUMBERS, "dobj"),
    "SOMO": odd_man_out,
    "CoordInv": coordination_inversion,
}
