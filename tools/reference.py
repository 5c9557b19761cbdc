"""Make the last results the committed ones: ``make reference``.

It calls ``python -m tools.reference``.

``figures/reference/<profile>/<notebook>/`` gets the tables, the figures, the parameters
and ``README.md``, the executed notebook as a page. ``figures/reference/README.md`` is
the gallery, ``docs/replication.md`` the verdicts on all claims.
"""

from __future__ import annotations

import argparse
import html
import json
import posixpath
import re
import shutil
import sys
from pathlib import Path

import nbformat
from nbconvert import MarkdownExporter
from nbconvert.preprocessors import CoalesceStreamsPreprocessor, TagRemovePreprocessor

from lib import corpora, tasks
from lib.base import markdown, paths
from lib.base.errors import InputError, command
from tools.results import PROFILES, REFERENCE, write_pages
from tools.run import comparison
from tools.run.jobs import Job, select

# Texts whose licenses forbid redistribution: their sentences are named by number.
RESTRICTED = {
    "reuters": corpora.load,
    "MSRP-groups": tasks.load,
    "Opinosis-groups": tasks.load,
}
SHOWN = 46  # characters of a long text that pandas shows
# What a table is styled by; its ids are other ones in each run.
STYLE = re.compile(r'<style.*?</style>\n?| id="T_\w+"', re.DOTALL)
NOTEBOOK = re.compile(r"notebooks/((?:replication/)?\w+)\.ipynb")
CODE = re.compile(r"(?:^```python\n.*?^```\n+)+", re.MULTILINE | re.DOTALL)
# Tags of cells that tell a finding, of which a page has what they tell.
TOLD = {"answer", "found"}
CALL = "call"
FOLDED = "<details><summary>Code</summary>\n\n{}\n\n</details>\n\n"
LINK = re.compile(r"(\]\()(?!https?:|#|mailto:)([^)\s]+)(\))")


def renew(job: Job) -> Path:
    """Make the results of a job's last run the reference; returns its folder.

    Raises InputError if the results are not up to date.
    """
    if not job.is_up_to_date():
        raise InputError(f"{job.results}: not up to date; run make figures first")
    folder, instead = comparison.folder(job), _instead(job)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for file in comparison.kept(job.results, ".png"):
        shutil.copy(file, folder)
    for file in comparison.kept(job.results, ".csv"):
        (folder / file.name).write_text(
            withhold(file.read_text(encoding="utf-8"), instead), encoding="utf-8"
        )
    text = json.dumps(job.parameters, indent=1, ensure_ascii=False)
    (folder / comparison.PARAMETERS).write_text(f"{text}\n", encoding="utf-8")
    text = page(nbformat.read(job.executed, as_version=4), job.name, job.profile)
    (folder / "README.md").write_text(withhold(text, instead), encoding="utf-8")
    return folder


def _instead(job: Job) -> dict[str, str]:
    """What replaces, in a page, local paths and sentences that may not be passed on."""
    named = json.dumps(job.parameters)
    places = {", ".join(map(str, paths.data_folders())): "data", f"{paths.ROOT}/": ""}
    return places | {
        sentence: f"[{name} {i}]"
        for name, load in RESTRICTED.items()
        if f'"{name}"' in named
        for i, sentence in enumerate(load(name).sentences)
        if len(sentence.split()) > 3
    }


def withhold(text: str, instead: dict[str, str]) -> str:
    """A page or table with some text replaced, escaped or cut as it may be.

    The longest text is replaced first.
    """
    for sentence in sorted(instead, key=len, reverse=True):
        cut = html.escape(f"{sentence[:SHOWN]}...", quote=False)
        for form in (
            sentence,
            markdown.escape(sentence),
            html.escape(sentence),
            sentence.replace('"', '""'),
            cut,
        ):
            if form in text:
                text = text.replace(form, instead[sentence])
    return text


def page(notebook: nbformat.NotebookNode, name: str, profile: str = "default") -> str:
    """An executed notebook as Markdown; its pictures are links.

    `name` is the one that `paths.notebook_name` gives. Links to lessons lead to their
    default results: they have no others. The code of a replication is folded: its page
    is read for the answers.
    """
    for cell in notebook.cells:
        if cell.cell_type == "code":
            shown = (_shown(output, name, profile) for output in cell.outputs)
            cell.outputs = [output for output in shown if output is not None]
            if TOLD & set(cell.metadata.get("tags", [])):
                cell.metadata.tags = [CALL]
        else:
            cell.source = _with_links_moved(cell.source, name, profile)
    exporter = MarkdownExporter()
    hidden = TagRemovePreprocessor(remove_input_tags={CALL})
    exporter.register_preprocessor(hidden, enabled=True)
    # A kernel may send what a cell prints in several pieces.
    exporter.register_preprocessor(CoalesceStreamsPreprocessor, enabled=True)
    text, _ = exporter.from_notebook_node(notebook)
    if name.startswith(paths.REPLICATION):
        text = CODE.sub(lambda cells: FOLDED.format(cells[0].strip()), text)
    lines = [line.rstrip() for line in text.splitlines()]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"


def _shown(
    output: nbformat.NotebookNode, name: str, profile: str
) -> nbformat.NotebookNode | None:
    """An output as a page shows it, or None if it cannot.

    Pictures become links, and tables lose their style.
    """
    data = output.get("data", {})
    if output.output_type == "stream":
        return output if output.name == "stdout" else None
    about = output.metadata.get("text/html", {})
    if "figure" in about:
        alt = about["alt"].replace("]", r"\]")
        text = (
            f"![{alt}]({about['figure']}.png)"
            if about["figure"]
            else f"*A figure:* {alt}"
        )
    elif "text/markdown" in data:
        text = _with_links_moved(data["text/markdown"], name, profile)
    elif "text/html" in data:
        text = STYLE.sub("", data["text/html"])
    else:
        return None if "application/vnd.jupyter.widget-view+json" in data else output
    return nbformat.v4.new_output("display_data", {"text/markdown": f"\n{text}\n"})


def _with_links_moved(text: str, name: str, profile: str) -> str:
    """A notebook's text with its links as they are on its page.

    Links to notebooks lead to their pages.
    """
    results = "figures/reference"
    here = f"{results}/{profile}/{name}"
    folder = posixpath.dirname(f"notebooks/{name}")

    def moved(link: re.Match[str]) -> str:
        target, hash_mark, anchor = link[2].partition("#")
        target = posixpath.normpath(f"{folder}/{target}")
        if notebook := NOTEBOOK.fullmatch(target):
            is_replication = notebook[1].startswith(f"{paths.REPLICATION}/")
            where = profile if is_replication else "default"
            target = f"{results}/{where}/{notebook[1]}/README.md"
        target = posixpath.relpath(target, here)
        return f"{link[1]}{target}{hash_mark}{anchor}{link[3]}"

    return LINK.sub(moved, text)


@command
def main(arguments: list[str] | None = None) -> int:
    """Renew the reference; the exit status is 0."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.reference", description="Keep the last results."
    )
    parser.add_argument("--profile", default="default", choices=PROFILES)
    parser.add_argument(
        "--notebook",
        default="",
        metavar="PREFIX",
        help="only notebooks whose name starts with this",
    )
    options = parser.parse_args(arguments)
    for job in select(options.notebook, options.profile):
        print(f"{job.name}  kept in {renew(job)}")
    comparison.gather_claims(REFERENCE / options.profile)
    write_pages()
    return 0


if __name__ == "__main__":
    sys.exit(main())
