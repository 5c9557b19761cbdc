"""What a probing task is: three splits of labelled sentences."""

from __future__ import annotations

from dataclasses import dataclass

from lib.tasks import ClassificationTask

TASKS = ("SentLen", "WC", "TreeDepth", "TopConst", "BShift", "Tense", "SubjNum", "ObjNum", "SOMO", "CoordInv")


@dataclass(frozen=True, eq=False)
class Probe:
    """A probing task.

    Attributes
    ----------
    name : str, one of `TASKS`
    train, dev, test : ClassificationTask, no sentence of which stands in two
    classes : tuple of str, what label code i stands for
    source : str, "SentEval" or "made from <name of the corpus>"
    """

    name: str
    train: ClassificationTask
    dev: ClassificationTask
    test: ClassificationTask
    classes: tuple[str, ...]
    source: str

    @property
    def splits(self) -> tuple[ClassificationTask, ClassificationTask, ClassificationTask]:
        """Train, dev and test."""
        return self.train, self.dev, self.test

    @property
    def sentences(self) -> list[str]:
        """The sentences of train, dev and test, in this order."""
        return [sentence for split in self.splits for sentence in split.sentences]
