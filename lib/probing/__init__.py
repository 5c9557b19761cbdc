"""Probing tasks: what a classifier can read out of a frozen embedding (how long, which word, in which order).

=============  =========================================  ==================================
name           what is asked of a sentence                made from
=============  =========================================  ==================================
``SentLen``    how many words it has                      any corpus
``WC``         which of some words it contains            any corpus
``TreeDepth``  how deep its parse is                      a corpus and a spaCy pipeline
``TopConst``   which constituents are at the top          nothing here: SentEval's file only
``BShift``     whether two adjacent words were swapped    any corpus
``Tense``      the tense of its main verb                 a corpus and a spaCy pipeline
``SubjNum``    the number of its subject                  a corpus and a spaCy pipeline
``ObjNum``     the number of its direct object            a corpus and a spaCy pipeline
``SOMO``       whether a word was replaced by an odd one  nothing here: SentEval's file only
``CoordInv``   whether two clauses changed places         a corpus and a spaCy pipeline
=============  =========================================  ==================================

Conneau et al. (2018), "What you can cram into a single vector", whose files come with SentEval (`read`). Where they are
not here, `make` follows their recipes on other text; docs/probing.md says where it departs from them.
"""

from lib.probing.tasks import FILES, MADE, SIZE, TASKS, Probe, make, read

__all__ = ["FILES", "MADE", "SIZE", "TASKS", "Probe", "make", "read"]
