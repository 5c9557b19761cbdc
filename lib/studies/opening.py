"""The opening of a lesson: its text, what to know of its models, what is left out."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from lib import embedders
from lib.base import environment
from lib.corpora import Corpus


def markdown(
    corpus: Corpus,
    names: Sequence[str],
    absent: Mapping[str, str],
    left_out: Collection[str] = (),
) -> str:
    """The opening of a lesson, in Markdown.

    Parameters
    ----------
    corpus : Corpus
        The text that is searched.
    names : sequence of str
        The embedders of the run.
    absent : mapping of str to str
        Embedders that were asked for and are not here, each with what it lacks.
    left_out : collection of str
        Sections and claims that need other embedders, or another text.
    """
    missing = environment.left_out(absent, embedders.of_unknown_kind(names))
    parts = [missing, corpus.reading()]
    for name in names:
        notes = embedders.load(name).notes(corpus.sentences)
        parts += [f"`{name}` {note}" for note in notes]
    if left_out:
        parts.append(
            "Left out because other embedders or another text would be needed: "
            f"{', '.join(left_out)}."
        )
    return "\n\n".join(parts)


def examples(preferred: Sequence[str], names: Sequence[str]) -> list[str]:
    """Embedders to show: those preferred if all of them are in the run.

    Otherwise as many from its beginning.
    """
    return list(preferred if {*preferred} <= {*names} else names[: len(preferred)])
