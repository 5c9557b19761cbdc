"""What the README shows of the studies, from the notebooks and their last run: ``python -m tools.readme``.

The table of studies and what ``make figures`` costs stand between marks in README.md and are written by ``make page``;
all else there is written by hand.
"""

from __future__ import annotations

import argparse
import csv
import html
import re
import sys
from pathlib import Path

from lib.run import files, parameters, paths
from lib.run.errors import InputError, said_in_a_sentence
from tools.site.lessons import description
from tools.site.sources import Sources, Study, read

README = paths.ROOT / "README.md"
# The figure that stands for each study; its alternative text is that of the file.
COVERS = {
    "00_start_here": "scores",
    "01_n2o": "n2o_heatmap",
    "02_robustness": "spearman_over_k",
    "03_popularity": "lexical_overlap",
    "04_paraphrase_mrr": "mrr",
    "05_sent2vec_training": "norms",
    "06_usif_derivation": "scores",
    "07_ucp_normalization": "table2",
    "08_semantic_localization": "accuracy_Verses",
    "09_situate_your_own": "n2o_map",
}


def studies(sources: Sources) -> str:
    """A table of title, question, minutes to read, time of the last run, and figure; a row a study.

    Raises InputError for a study that has not been run, and for one without a figure to stand for it.
    """
    head = "\n| study | question | to read | to run | |\n|---|---|---|---|---|\n"
    return head + "".join(_row(study, sources.root) for study in sources.studies) + "\n"


def _row(study: Study, root: Path) -> str:
    seconds, _ = cost(study)
    figure = root / "figures/reference/default" / study.name / f"{COVERS.get(study.name)}.png"
    if not figure.exists():
        raise InputError(f"{figure}: is missing; run make reference, or name another figure in tools/readme.py")
    picture = f'<img src="{figure.relative_to(root)}" alt="{html.escape(description(figure))}" width="240">'
    link = f"[{study.title}](notebooks/{study.source.name})"
    cells = [link, study.question, f"{reading_minutes(study)} min", _spoken(seconds), picture]
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |\n"


def reading_minutes(study: Study) -> int:
    """What the first cell says after **Takes**; InputError if it does not."""
    found = re.search(r"\*\*Takes\*\* (\d+) minutes to read", "".join(read(study.source)["cells"][0]["source"]))
    if not found:
        raise InputError(f"{study.source}: the first cell does not say '**Takes** N minutes to read'; add it")
    return int(found[1])


def cost(study: Study) -> tuple[float, float]:
    """Seconds and gigabytes resident at most of the last run; InputError if there was none."""
    file = study.results / paths.COST
    if not file.exists():
        raise InputError(f"{file}: is missing; run make figures first")
    try:
        with file.open(encoding="utf-8", newline="") as lines:
            row = next(csv.DictReader(lines))
        return float(row["seconds"]), float(row["gigabytes"])
    except (StopIteration, KeyError, TypeError, ValueError, csv.Error) as error:
        raise InputError(f"{file}: is damaged; run make figures again") from error


def total(sources: Sources) -> str:
    """A sentence on all notebooks, run one after the other."""
    costs = [cost(study) for study in sources.studies]
    seconds, memory = sum(seconds for seconds, _ in costs), max(gigabytes for _, gigabytes in costs)
    return f"`make figures` takes {_spoken(seconds)} and {memory:.1f} GB of memory, and seconds when run again.\n"


def _spoken(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds >= 90 else f"{seconds:.0f} s"


def filled(text: str, parts: dict[str, str]) -> str:
    """A text with new content between ``<!-- name -->`` and ``<!-- /name -->``; InputError if marks are missing."""
    for name, content in parts.items():
        start, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        if not text.count(start) == text.count(end) == 1:
            raise InputError(f"README.md: the marks {start.strip()} and {end} must stand in it once each")
        before, rest = text.split(start)
        text = before + start + content + rest[rest.index(end) :]
    return text


def write(sources: Sources, readme: Path) -> None:
    """Bring the README up to date."""
    parts = {"studies": studies(sources), "cost": total(sources)}
    text = filled(readme.read_text(encoding="utf-8"), parts)
    with files.replacing(readme) as stream:
        stream.write(text.encode())


@said_in_a_sentence
def main(arguments: list[str] | None = None) -> int:
    """Write README.md; the exit status is 2 if something that it shows is missing."""
    parameters.given(
        argparse.ArgumentParser(prog="python -m tools.readme", description="Bring README.md up to date."), arguments
    )
    write(Sources(), README)
    return 0


if __name__ == "__main__":
    sys.exit(main())
