"""The pages that the site has beside the lessons: gallery, API reference, citations, license, lists of pages."""

from __future__ import annotations

import ast
import html
import importlib.util
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from tools.site import lessons
from tools.site.sources import Sources, Study, read

# -- start page ---------------------------------------------------------------------------------


def gallery(sources: Sources, assets: Path) -> str:
    """Markdown of the start page's middle: one figure a study with its question, and what is missing, if anything."""
    readme = (sources.root / "README.md").read_text(encoding="utf-8")
    cards = [_card(study, _cover(study, readme), assets) for study in sources.studies]
    missing = [study for study in sources.studies if lessons.notice(study)]
    return "\n\n".join(filter(None, [_banner(missing), f'<div class="gallery">\n{chr(10).join(cards)}\n</div>']))


def _banner(missing: Sequence[Study]) -> str:
    if not missing:
        return ""
    names = ", ".join(f"[{study.title.split(':')[0]}](notebooks/{study.name})" for study in missing)
    said = f"Without results, or with those of an earlier version: {names}. Run `make figures`, and then `make site`."
    return f"```{{admonition}} This site is not complete\n:class: warning\n\n{said}\n```"


def _card(study: Study, cover: Path | None, assets: Path) -> str:
    link = f"notebooks/{study.name}.html"
    picture = ""
    if cover:
        lessons.copy_figure(cover, assets / "figures" / study.name)
        alt = html.escape(lessons.description(cover))
        picture = f'<img src="figures/{study.name}/{cover.name}" alt="{alt}">'
    title, question = html.escape(study.title), html.escape(_plain(study.question))
    return f'<a class="card" href="{link}"><span class="picture">{picture}</span><b>{title}</b><p>{question}</p></a>'


def _plain(markdown: str) -> str:
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", markdown).replace("`", "").replace("*", "").replace("$", "")


def _cover(study: Study, readme: str) -> Path | None:
    """The figure that stands for a study: the README's, or else the first that the lesson shows of real data."""
    found = {file.stem: file for file in sorted(study.results.glob("*.png"))}
    shown = re.findall(rf"figures/[\w/]+/{study.name}/(\w+)\.png", readme)
    in_order = re.findall(r'show\([^"]*"(\w+)"', _code(study.source))
    real = [name for name in (*in_order, *found) if name != "toy" and not name.startswith("timings")]
    return next((found[name] for name in (*shown, *real) if name in found), None)


def _code(notebook: Path) -> str:
    return "\n".join("".join(cell["source"]) for cell in read(notebook)["cells"] if cell["cell_type"] == "code")


def contents(sources: Sources) -> str:
    """The tables of contents that the start page carries for the side bar."""
    studies = [f"notebooks/{study.name}" for study in sources.studies]
    documents = [str(file.relative_to(sources.root).with_suffix("")) for file in (sources.root / "docs").glob("*.md")]
    folders = [f"{folder}/index" for folder in _folders(sources)]
    api = ["api/index"] if sources.modules else []
    about = ["citations", *(file.stem for file in sources.about), "license"]
    parts = {"Studies": studies, "Reference": [*sorted(documents), *folders, *api], "About": about}
    return "\n\n".join(_toctree(entries, caption) for caption, entries in parts.items())


def _toctree(entries: Iterable[str], caption: str = "") -> str:
    options = f":caption: {caption}\n:hidden:\n:titlesonly:" if caption else ":hidden:"
    return f"```{{toctree}}\n{options}\n\n{chr(10).join(entries)}\n```"


# -- lists of pages -----------------------------------------------------------------------------


def _folders(sources: Sources) -> list[str]:
    """Folders of ``docs/`` that hold pages."""
    return sorted({str(file.parent.relative_to(sources.root)) for file in sources.documents} - {"docs"})


def folder_pages(sources: Sources) -> dict[str, str]:
    """For each folder of ``docs/`` a page that lists those in it."""
    pages = {}
    for folder in _folders(sources):
        files = [file for file in sources.documents if file.parent == sources.root / folder]
        lines = [f"- [{_heading(file)}]({file.name})" for file in files]
        title = Path(folder).name.replace("_", " ").capitalize()
        pages[f"{folder}/index.md"] = "\n".join([f"# {title}", "", *lines, "", _toctree(file.stem for file in files)])
    return pages


def _heading(file: Path) -> str:
    found = re.search(r"^# +(.+)$", file.read_text(encoding="utf-8"), re.M)
    return found[1] if found else file.stem


# -- API reference ------------------------------------------------------------------------------


def api_pages(modules: Sequence[str]) -> dict[str, str]:
    """A page a module, from its docstrings, and the list of them."""
    if not modules:
        return {}
    pages = {f"api/{module}.md": _api_page(module) for module in modules}
    rows = [f"| [`{module}`]({module}.md) | {_summary(module)} |" for module in modules]
    head = ["# API reference", "", "The public names of each module of `lib`, from their docstrings.", ""]
    table = ["| module | what it is |", "|---|---|", *rows, ""]
    pages["api/index.md"] = "\n".join([*head, *table, _toctree(modules)])
    return pages


def _api_page(module: str) -> str:
    heads = [f"# `{module}`", *(f"## `{name}`" for name in _parts(module))]
    shown = [f"```{{eval-rst}}\n.. automodule:: {name}\n   :members:\n```\n" for name in (module, *_parts(module))]
    return "\n\n".join(text for pair in zip(heads, shown, strict=True) for text in pair)


def _parts(module: str) -> list[str]:
    """The modules of a package that has no public names of its own."""
    package = _file(module)
    if package.name != "__init__.py" or len(ast.parse(package.read_text(encoding="utf-8")).body) > 1:
        return []
    return [f"{module}.{file.stem}" for file in sorted(package.parent.glob("*.py")) if file != package]


def _summary(module: str) -> str:
    """The first line of a module's docstring, read without importing it."""
    said = ast.get_docstring(ast.parse(_file(module).read_text(encoding="utf-8"))) or ""
    return said.split("\n")[0].replace("``", "`").replace("|", "\\|")


def _file(module: str) -> Path:
    return Path(str(importlib.util.find_spec(module).origin))


# -- citations and license ----------------------------------------------------------------------


def citations(sources: Sources) -> str:
    """The page of all references: the papers, the tools, the data and weights."""
    parts = {
        "The papers of the collection": 'keywords % "paper"',
        "Tools": 'keywords % "tool"',
        "Data, weights and methods": 'not (keywords % "paper" or keywords % "tool")',
    }
    lines = ["# Citations", "", "Please cite the paper that a study re-creates, and the data and weights that you use."]
    for title, chosen in parts.items():
        lines += ["", f"## {title}", "", f"```{{bibliography}}\n:filter: {chosen}\n```"]
    lines += ["", "The same as BibTeX: [references.bib](references.bib)."]
    return "\n".join([*lines, *_citation_file(sources.root / "CITATION.cff")]) + "\n"


def _citation_file(file: Path) -> list[str]:
    if not file.exists():
        return []
    text = file.read_text(encoding="utf-8").strip()
    return ["", "## These studies", "", "From `CITATION.cff`:", "", f"```yaml\n{text}\n```"]


def license_page(sources: Sources) -> str:
    """The license of the code, and where those of the data are."""
    text = (sources.root / "LICENSE").read_text(encoding="utf-8").strip()
    data = "Texts, vectors and weights have licenses of their own: [the data page](docs/data.md) names each.\n"
    return f"# License\n\nOf the code and the notebooks:\n\n```text\n{text}\n```\n\n{data}"
