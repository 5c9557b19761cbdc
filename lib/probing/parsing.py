"""What a spaCy pipeline for English says of a sentence, as far as probing tasks are made of it.

Tags are those of the Penn Treebank (`Token.tag_`), dependencies those of spaCy's English pipelines; the subject and
object relations of Universal Dependencies are accepted too.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import metadata
from typing import Any, NamedTuple

import numpy as np

from lib.corpora import text
from lib.run.errors import InputError
from lib.run.parameters import shown

HOW_TO_GET = "python -m spacy download en_core_web_sm"

TENSES = {"VBD": "PAST", "VBP": "PRES", "VBZ": "PRES"}
NUMBERS = {"NN", "NNS"}  # of common nouns: singular; plural, or mass nouns tagged so
SUBJECTS = {"nsubj", "nsubjpass", "nsubj:pass"}
OBJECTS = {"dobj", "obj"}
OF_CLAUSES = {*SUBJECTS, "expl"}  # what makes a verb and its words a clause: "there was room", too


class Parse(NamedTuple):
    """What probing tasks need of a sentence's parse; None for what it does not have.

    Attributes
    ----------
    tense, subject, object : (str, str), optional
        A class, and the word (in lower case) that decides it.
    inversion : (str, int), optional
        The sentence with its two clauses in the other order, and which of them is longer in the original: 1 the first,
        -1 the second, 0 neither.
    depth : int, optional
        Arcs on the longest way from the root to a word.
    """

    tense: tuple[str, str] | None = None
    subject: tuple[str, str] | None = None
    object: tuple[str, str] | None = None
    inversion: tuple[str, int] | None = None
    depth: int | None = None


@lru_cache(maxsize=1)
def loaded(pipeline: Any) -> Any:
    """The pipeline itself, or the installed one of this name; InputError if there is none."""
    if hasattr(pipeline, "pipe"):
        return pipeline
    known = sorted(metadata.entry_points(group="spacy_models").names)
    if pipeline not in known:  # spaCy would also import any package of that name, or read any folder
        raise InputError(
            f"pipeline: no spaCy pipeline {shown(pipeline)} is installed (installed: {', '.join(known) or 'none'}); "
            f"get one with a tagger and a parser, for instance by {HOW_TO_GET}"
        )
    import spacy  # heavy: two seconds

    return spacy.load(pipeline, exclude=["ner", "lemmatizer"])


@lru_cache(maxsize=1)  # parsing a corpus takes minutes, and five tasks are made from it
def parses(pipeline: Any, sentences: tuple[str, ...]) -> list[Parse]:
    """A Parse for each sentence; InputError for a pipeline that does not tag words or does not parse."""
    return [parse(doc) for doc in pipeline.pipe([text.mend(sentence) for sentence in sentences])]


def parse(doc: Any) -> Parse:
    """What a spaCy Doc says; nothing, if it is not one sentence with one root. Raises InputError as `parses` does."""
    if len(doc) and not (doc.has_annotation("TAG") and doc.has_annotation("DEP")):
        raise InputError(f"pipeline: has no tagger or no parser; get one that has both, for instance by {HOW_TO_GET}")
    roots = [token for token in doc if token.head.i == token.i and not token.is_space]
    if len(roots) != 1 or not _is_word(roots[0]):
        return Parse()
    (root,) = roots
    tense = (TENSES[root.tag_], root.lower_) if root.tag_ in TENSES else None
    depth = max(len(list(token.ancestors)) for token in doc if _is_word(token))
    return Parse(tense, _number(root, SUBJECTS), _number(root, OBJECTS), _inversion(doc), depth)


def _number(root: Any, relations: set[str]) -> tuple[str, str] | None:
    """The number of the noun in one of these relations to the main verb; None if there are two, joined or not."""
    nouns = [child for child in root.children if child.dep_ in relations]
    if len(nouns) != 1 or nouns[0].tag_ not in NUMBERS or any(child.dep_ == "conj" for child in nouns[0].children):
        return None
    return nouns[0].tag_, nouns[0].lower_


# -- two clauses that change places -------------------------------------------------------------


def _inversion(doc: Any) -> tuple[str, int] | None:
    """The sentence with its two coordinated main clauses swapped; None if it is not made of two such clauses."""
    conjunctions = [token for token in doc if token.tag_ == "CC"]
    if len(conjunctions) != 1 or any(token.is_quote for token in doc):
        return None
    middle = conjunctions[0].i
    first, second = _words_at_ends(doc[:middle]), _words_at_ends(doc[middle + 1 :])
    if not first or not second or first.start or not _are_clauses(first, second, conjunctions[0]):
        return None
    between, after = doc.text[first.end_char : second.start_char], doc.text[second.end_char :]
    opening = second.text[0].upper() + second.text[1:]
    lengths = [sum(map(_is_word, clause)) for clause in (first, second)]
    return opening + between + _inside(first) + after, int(np.sign(lengths[0] - lengths[1]))


def _words_at_ends(span: Any) -> Any:
    """The span from its first word to its last one; None if it has no word."""
    words = [token.i for token in span if _is_word(token)]
    return span.doc[words[0] : words[-1] + 1] if words else None


def _are_clauses(first: Any, second: Any, conjunction: Any) -> bool:
    """Whether both are whole clauses with a subject, the second joined to the main one by the conjunction."""
    joined = conjunction.head == first.root == first.root.head and second.root.dep_ == "conj"
    return joined and second.root.head == first.root and _is_clause(first) and _is_clause(second)


def _is_clause(span: Any) -> bool:
    """Whether nothing in the span but its root hangs from outside, and its root has a subject."""
    apart = [token for token in span if token != span.root and token.head not in span]
    return not apart and any(child.dep_ in OF_CLAUSES for child in span.root.children)


def _inside(clause: Any) -> str:
    """A clause that no longer opens the sentence: with a small letter, unless its first word has another reason."""
    first = clause[0]
    is_name = first.tag_ in ("NNP", "NNPS") or first.text == "I"
    if is_name or (len(first.text) > 1 and not first.text[1:].islower()):
        return clause.text
    return clause.text[0].lower() + clause.text[1:]


def _is_word(token: Any) -> bool:
    return any(map(str.isalnum, token.text))
