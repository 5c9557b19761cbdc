"""What a spaCy pipeline for English says of a sentence, as far as probing tasks are made of it.

Tags are those of the Penn Treebank (`Token.tag_`), dependencies those of spaCy's English pipelines; the subject and
object relations of Universal Dependencies are accepted too.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib import metadata
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from lib.corpora import text
from lib.run.errors import InputError
from lib.run.parameters import shown

EXAMPLE = "en_core_web_sm"
HOW_TO_GET = f"python -m spacy download {EXAMPLE}"

PAST, PRESENT = {"VBD"}, {"VBP", "VBZ"}
NUMBERS = {"NN", "NNS"}  # of common nouns: singular; plural, or mass nouns tagged so
SUBJECTS = {"nsubj", "nsubjpass", "nsubj:pass"}
OBJECTS = {"dobj", "obj"}
OF_CLAUSES = {*SUBJECTS, "expl"}  # what makes a verb and its words a clause: "there was room", too


class Marked(NamedTuple):
    """A class, and the word (in lower case) that decides it."""

    label: str
    target: str


class Inversion(NamedTuple):
    """A sentence whose two clauses have changed places, and which is longer in the original: 1 the first, -1, or 0."""

    sentence: str
    longer: int


class Parse(NamedTuple):
    """What probing tasks need of a sentence's parse; None for what it does not have."""

    tense: Marked | None = None
    subject: Marked | None = None
    object: Marked | None = None
    inversion: Inversion | None = None
    depth: int | None = None


def loaded(name: str, pipeline: Any) -> Any:
    """The pipeline itself, or the installed one of this name; InputError, naming the task, if there is none."""
    if hasattr(pipeline, "pipe"):
        return pipeline
    if not isinstance(pipeline, str):
        raise InputError(
            f"pipeline: {name} needs a spaCy pipeline with a tagger and a parser, got {pipeline!r}; give a loaded one "
            f"or the name of an installed one, such as {EXAMPLE!r} (to get it: {HOW_TO_GET})"
        )
    return _installed(pipeline)


@lru_cache(maxsize=1)
def _installed(name: str) -> Any:
    known = sorted(metadata.entry_points(group="spacy_models").names)
    if name not in known:  # spaCy would also import any package of that name, or read any folder
        raise InputError(
            f"pipeline: no spaCy pipeline {shown(name)} is installed (installed: {', '.join(known) or 'none'}); "
            f"get one, for instance by {HOW_TO_GET}"
        )
    import spacy  # heavy: two seconds

    return spacy.load(name, exclude=["ner", "lemmatizer"])


# Parsing a corpus takes minutes, and five tasks are made from it.
_parsed: WeakKeyDictionary[Any, tuple[str, list[Parse]]] = WeakKeyDictionary()


def parses(pipeline: Any, sentences: Sequence[str]) -> list[Parse]:
    """A Parse for each sentence; those of the text that a pipeline parsed last are kept.

    Raises InputError for a pipeline that does not tag words or does not parse.
    """
    fingerprint = text.fingerprint(sentences)
    if pipeline not in _parsed or _parsed[pipeline][0] != fingerprint:
        docs = pipeline.pipe([text.mend(sentence) for sentence in sentences])
        _parsed[pipeline] = fingerprint, [parse(doc) for doc in docs]
    return _parsed[pipeline][1]


def parse(doc: Any) -> Parse:
    """What a spaCy Doc says; nothing, if it is not one sentence with one root. Raises InputError as `parses` does."""
    for kind, what in (("TAG", "part-of-speech tags"), ("DEP", "dependencies")):
        if len(doc) and not doc.has_annotation(kind):
            raise InputError(
                f"pipeline: it gives no {what}; give one with a tagger and a parser, such as {EXAMPLE!r} "
                f"(to get it: {HOW_TO_GET})"
            )
    roots = [token for token in doc if token.head.i == token.i and not token.is_space]
    if len(roots) != 1 or not _is_word(roots[0]):
        return Parse()
    root = roots[0]
    return Parse(_tense(root), _number(root, SUBJECTS), _number(root, OBJECTS), _inversion(doc), _depth(doc))


def _tense(root: Any) -> Marked | None:
    if root.tag_ in PAST | PRESENT:
        return Marked("PAST" if root.tag_ in PAST else "PRES", root.lower_)
    return None


def _number(root: Any, relations: set[str]) -> Marked | None:
    """The number of the noun in one of these relations to the main verb; None if there are two, joined or not."""
    nouns = [child for child in root.children if child.dep_ in relations]
    if len(nouns) != 1 or nouns[0].tag_ not in NUMBERS or any(child.dep_ == "conj" for child in nouns[0].children):
        return None
    return Marked(nouns[0].tag_, nouns[0].lower_)


def _depth(doc: Any) -> int:
    """Arcs on the longest way from the root to a word."""
    return max(sum(1 for _ in token.ancestors) for token in doc if _is_word(token))


# -- two clauses that change places -------------------------------------------------------------


def _inversion(doc: Any) -> Inversion | None:
    """The sentence with its two coordinated main clauses swapped; None if it is not made of two such clauses."""
    conjunctions = [token for token in doc if token.tag_ == "CC"]
    if len(conjunctions) != 1 or any(token.is_quote for token in doc):
        return None
    middle = conjunctions[0].i
    first, second = _words_at_ends(doc[:middle]), _words_at_ends(doc[middle + 1 :])
    if not first or not second or first.start or not _are_clauses(first, second, conjunctions[0]):
        return None
    between, after = doc.text[first.end_char : second.start_char], doc.text[second.end_char :]
    inverted = _opening(second) + between + _inside(first) + after
    lengths = [sum(map(_is_word, clause)) for clause in (first, second)]
    return Inversion(inverted, (lengths[0] > lengths[1]) - (lengths[0] < lengths[1]))


def _words_at_ends(span: Any) -> Any:
    """The span from its first word to its last one; None if it has no word."""
    words = [token.i for token in span if _is_word(token)]
    return span.doc[words[0] : words[-1] + 1] if words else None


def _are_clauses(first: Any, second: Any, conjunction: Any) -> bool:
    """Whether both are whole clauses with a subject, the second joined to the main one by the conjunction."""
    if conjunction.head.i != first.root.i or first.root.head.i != first.root.i:
        return False
    joined = second.root.dep_ == "conj" and second.root.head.i == first.root.i
    return joined and all(_is_clause(clause) for clause in (first, second))


def _is_clause(span: Any) -> bool:
    """Whether nothing in the span but its root hangs from outside, and its root has a subject."""
    apart = [token for token in span if token.i != span.root.i and not span.start <= token.head.i < span.end]
    return not apart and any(child.dep_ in OF_CLAUSES for child in span.root.children)


def _opening(clause: Any) -> str:
    return clause.text[0].upper() + clause.text[1:]


def _inside(clause: Any) -> str:
    """A clause that no longer opens the sentence: with a small letter, unless its first word has another reason."""
    first = clause[0]
    is_name = first.tag_ in ("NNP", "NNPS") or first.text == "I"
    if is_name or (len(first.text) > 1 and not first.text[1:].islower()):
        return clause.text
    return clause.text[0].lower() + clause.text[1:]


def _is_word(token: Any) -> bool:
    return any(map(str.isalnum, token.text))
