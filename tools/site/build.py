"""From the project's files to the site: a stage of Markdown pages and notebooks, then Sphinx."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from lib.run import files, locks
from lib.run.errors import InputError
from tools.site import documents, lessons, pages
from tools.site.settings import settings
from tools.site.sources import Sources, Study

STATIC = Path(__file__).parent / "static"
MARK = "_static/site.js"  # what has it is a site, and may be replaced by one


@dataclass(frozen=True)
class Report:
    """What was built: the start page, how many pages, which studies lack up-to-date results, what Sphinx warned of."""

    start: Path
    pages: int
    incomplete: list[Study]
    warnings: list[str]


def build(sources: Sources, output: Path) -> Report:
    """Build a site into a folder, which is replaced once the new site is whole.

    Raises InputError if something that the site is made of is missing or the folder cannot be replaced.
    """
    _check(sources, output)
    with tempfile.TemporaryDirectory(prefix="site-") as temporary:
        stage, assets, built = (Path(temporary) / name for name in ("stage", "assets", "built"))
        assets.mkdir()
        shutil.copytree(STATIC, stage.with_name("static"))
        for name, text in _pages(sources, stage, assets).items():
            _write(stage / name, text)
        warnings = _sphinx(stage, built, settings(_title(sources)))
        count = sum(1 for _ in built.rglob("*.html"))
        _replace(built, output)
    return Report(output / "index.html", count, [s for s in sources.studies if lessons.notice(s)], warnings)


def _check(sources: Sources, output: Path) -> None:
    for name in ("README.md", "references.bib", "LICENSE"):
        if not (sources.root / name).is_file():
            raise InputError(f"{sources.root / name}: is missing; get it back from the repository")
    if output.exists() and not output.is_dir():
        raise InputError(f"{output}: is a file; name a folder for the site")
    if output.is_dir() and any(output.iterdir()) and not (output / MARK).exists():
        raise InputError(f"{output}: holds something that is no site; name an empty or a new folder")
    above = next(folder for folder in (output, *output.absolute().parents) if folder.exists())
    if not os.access(above, os.W_OK):
        raise InputError(f"{above}: cannot be written to; name another folder for the site")


def _title(sources: Sources) -> str:
    return re.search(r"^# +(.+)$|\Z", (sources.root / "README.md").read_text(encoding="utf-8"), re.M)[1] or "Studies"


def _pages(sources: Sources, stage: Path, assets: Path) -> dict[str, str]:
    """Every page by its name in the stage; figures go to the assets, linked files to the stage."""
    readme = sources.root / "README.md"
    start = documents.stage(readme.read_text(encoding="utf-8"), readme, sources, stage)
    start = documents.with_gallery(start, pages.gallery(sources, assets))
    documents.copy(sources.root / "references.bib", stage / "references.bib")
    made = {"index.md": f"{start}\n{pages.contents(sources)}\n"}
    made |= {"citations.md": pages.citations(sources), "license.md": pages.license_page(sources)}
    for file in [*sources.documents, *sources.about]:
        text = documents.stage(file.read_text(encoding="utf-8"), file, sources, stage)
        made[str(file.relative_to(sources.root))] = documents.with_citations(text, sources)
    for study in sources.studies:
        made |= _lesson(study, sources, stage, assets)
    return made | pages.folder_pages(sources) | pages.api_pages(sources.modules)


def _lesson(study: Study, sources: Sources, stage: Path, assets: Path) -> dict[str, str]:
    if not study.is_executed:
        return {f"notebooks/{study.name}.md": lessons.placeholder(study)}
    notebook = lessons.lesson(study, assets)
    for holder, key in lessons.markdown_parts(notebook["cells"]):
        holder[key] = documents.stage("".join(holder[key]), study.source, sources, stage)
    return {f"notebooks/{study.name}.ipynb": json.dumps(notebook)}


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def _sphinx(stage: Path, built: Path, configuration: dict) -> list[str]:
    """Run Sphinx; returns its warnings."""
    from sphinx.application import Sphinx
    from sphinx.util.docutils import docutils_namespace, patch_docutils

    said = io.StringIO()
    with patch_docutils(), docutils_namespace():
        app = Sphinx(
            srcdir=stage,
            confdir=None,
            outdir=built,
            doctreedir=built.with_name("doctrees"),
            buildername="html",
            confoverrides=configuration,
            status=None,
            warning=said,
        )
        app.build()
    (built / ".buildinfo").unlink()  # for builds that go on from an earlier one; it is never the same twice
    lines = re.sub(r"\x1b\[[0-9;]*m", "", said.getvalue()).replace(f"{stage}/", "")
    return [line for line in lines.splitlines() if re.search(r"\b(WARNING|ERROR|CRITICAL)\b", line)]


def _replace(built: Path, output: Path) -> None:
    """Move what was built into its place; what was there stays until then."""
    with (
        files.writing(output),
        locks.held_beside(output, f"putting the site into {output}"),
        files.replacing_folder(output) as new,
    ):
        shutil.copytree(built, new, dirs_exist_ok=True)
