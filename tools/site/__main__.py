"""``python -m tools.site``: build the site of the default profile and say what it lacks."""

from __future__ import annotations

import argparse
import sys

from lib.run import paths
from lib.run.errors import InputError, command
from tools.site.build import Report, build
from tools.site.sources import Sources, library


@command
def main(arguments: list[str] | None = None) -> int:
    """Build it; the exit status is 2, by an InputError in a sentence, if it cannot be built."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.site", description="The executed notebooks as a static site."
    )
    parser.add_argument("--output", default="site", metavar="FOLDER", help="where the site goes (default: site/)")
    options = parser.parse_args(arguments)
    print("Building the site", flush=True)
    try:
        report = build(Sources(modules=library()), paths.from_root(options.output))
    except OSError as error:
        raise InputError(str(error)) from error
    print(summary(report))
    return 0


def summary(report: Report) -> str:
    """What a reader of the terminal should know of a site."""
    lines = [f"warning: {warning}" for warning in report.warnings]
    lines += [f"{study.name}: no up-to-date results; run make figures, then make site" for study in report.incomplete]
    lines.append(f"{report.pages} pages, {len(report.incomplete)} studies not up to date: open {report.start}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
