"""An executed notebook made ready for the site: figures become links to their files, tables can be sorted."""

from __future__ import annotations

import hashlib
import html
import re
import shutil
from base64 import b64decode
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lib.run import paths
from lib.run.errors import InputError
from tools.site.sources import Study, read

SHOWN = {"image/png", "text/html", "text/markdown", "text/plain"}  # what needs no script
FIGURE_FILES = (".png", ".svg", ".csv")
READING = "**What to see"  # how the words begin that stand after a figure
CONCLUSION = "Findings"  # how the heading begins under which there are only words
_HEADING = re.compile(r"(```.*?```)|^(?=#{1,5} )", re.M | re.S)  # or code, in which "# " opens a comment


def lesson(study: Study, assets: Path) -> dict[str, Any]:
    """The executed notebook, its figures moved from its outputs to files in ``assets/figures/<notebook>/``.

    Code that only words what was found is folded.
    """
    folder = assets / "figures" / study.name
    for file in sorted(study.results.iterdir()):
        if file.suffix in FIGURE_FILES:
            copy_figure(file, folder)
    notebook = read(study.executed)
    named = {_checksum(file.read_bytes()): file.name for file in sorted(folder.glob("*.png"))}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = [_output(output, folder, named) for output in cell["outputs"] if _says_something(output)]
    _fold_wording(notebook["cells"])
    _give_one_title(notebook["cells"])
    opening, *others = notebook["cells"]
    notebook["cells"] = [opening, *_cell("notice", notice(study)), *others, *_cell("tables", _tables(folder))]
    return notebook


def _tags(cell: dict[str, Any]) -> list[str]:
    return cell["metadata"].get("tags", [])


def _says_something(output: dict[str, Any]) -> bool:
    """False for Markdown without a word, which a notebook does not show either."""
    return bool("".join(output.get("data", {}).get("text/markdown", "something")).strip())


def _fold_wording(cells: list[dict[str, Any]]) -> None:
    """Fold the code that words what a figure shows, and the code of the conclusion."""
    concluding = False
    for cell in cells:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            headings = re.findall(r"^#+ +(.+)$", text, re.M)
            concluding = headings[-1].startswith(CONCLUSION) if headings else concluding
        elif concluding or _is_reading(cell):
            cell["metadata"]["tags"] = [*_tags(cell), "hide-input"]


def _is_reading(cell: dict[str, Any]) -> bool:
    words = [output.get("data", {}).get("text/markdown", "") for output in cell.get("outputs", [])]
    return bool(words) and all(words) and words[0].startswith(READING) and "\n|" not in "".join(words)


def _give_one_title(cells: list[dict[str, Any]]) -> None:
    """From a second heading of the highest level on, every heading of a lesson becomes one level smaller."""
    prose = (i for i, cell in enumerate(cells) if i and cell["cell_type"] == "markdown")
    parts = [i for i in prose if "".join(cells[i]["source"]).startswith("# ")]
    for holder, key in markdown_parts(cells[parts[0] :] if parts else []):
        holder[key] = _HEADING.sub(lambda match: match[1] or "#", "".join(holder[key]))


def _cell(id: str, text: str) -> list[dict[str, Any]]:
    """A Markdown cell, or none if there is nothing to say."""
    return [{"cell_type": "markdown", "id": id, "metadata": {}, "source": text}] if text else []


def markdown_parts(cells: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], str]]:
    """Where cells hold Markdown, themselves or in outputs: a dictionary and the key of the text in it."""
    for cell in cells:
        if cell["cell_type"] == "markdown":
            yield cell, "source"
        for output in cell.get("outputs", []):
            if "text/markdown" in output.get("data", {}):
                yield output["data"], "text/markdown"


def notice(study: Study) -> str:
    """Markdown in front of a lesson whose results are missing or of another day; empty if there is nothing to say."""
    command = f"`make figures NOTEBOOK={study.name}`"
    if not study.is_executed:
        return _admonition("Not run yet", f"This study has no results here: run {command}, and then `make site`.")
    if not study.is_current:
        said = f"The notebook has changed since these results: run {command}, and then `make site`."
        return _admonition("Results of an earlier version", said)
    return ""


def placeholder(study: Study) -> str:
    """The page, in Markdown, of a study that has not been run."""
    return f"# {study.title}\n\n{notice(study)}\n**Question.** {study.question}\n"


def copy_figure(file: Path, folder: Path) -> None:
    """Put a file into a folder, which is made if it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, folder / file.name)


def description(png: Path) -> str:
    """The alternative text that `lib.plotting.save` wrote into a figure; its name if there is none.

    Raises InputError for a damaged image.
    """
    from PIL import Image

    try:
        with Image.open(png) as image:
            return image.info.get("Description") or png.stem.replace("_", " ")
    except Exception as error:  # a damaged image can make its reader raise anything
        raise InputError(f"{png}: is damaged; run make figures again") from error


def figure(file: Path, page_to_root: str, alt: str, width: int | None = None) -> str:
    """HTML of a figure that opens its larger form: the SVG beside it, or else itself."""
    larger = file.with_suffix(".svg") if file.with_suffix(".svg").exists() else file
    where = f"{page_to_root}figures/{file.parent.name}/"
    image = f'<img src="{where}{file.name}" alt="{html.escape(alt)}"{_size(file, width)} loading="lazy">'
    return f'<a class="enlarge" href="{where}{larger.name}">{image}</a>'


def _size(file: Path, width: int | None) -> str:
    """Attributes that keep an image's place on the page before it is loaded."""
    from PIL import Image

    with Image.open(file) as image:
        wide, high = image.size
    shown = width or wide
    return f' width="{shown}" height="{round(shown * high / wide)}"'


def _output(output: dict[str, Any], folder: Path, named: Mapping[str, str]) -> dict[str, Any]:
    """One output of a cell, without what only a browser with a running kernel could show."""
    if "text" in output:
        return output | {"text": without_home("".join(output["text"]))}
    if "data" not in output:
        return output
    data = {kind: without_home("".join(text)) for kind, text in output["data"].items() if kind in SHOWN}
    if "image/png" in data:
        data = {"text/html": _figure(data, output.get("metadata", {}), folder, named)}
    elif "text/html" in data:
        data["text/html"] = table(data["text/html"])
    return output | {"data": data, "metadata": {}}


def _figure(data: Mapping[str, str], metadata: Mapping[str, Any], folder: Path, named: Mapping[str, str]) -> str:
    """HTML of an image output: the saved file with the same bytes, or a new one for what was only displayed."""
    content = b64decode(data["image/png"])
    file = folder / named.get(_checksum(content), f"shown-{_checksum(content)}.png")
    if not file.exists():
        file.write_bytes(content)
    known = metadata.get("image/png", {})
    return figure(file, "../", known.get("alt") or data.get("text/plain", ""), known.get("width"))


def table(source: str) -> str:
    """A table as pandas displays it, in a frame of its own width that scrolls, with a head that sorts."""
    if "<table" not in source:
        return source
    source = re.sub(r"<style scoped>.*?</style>", "", source, flags=re.S)
    source = re.sub(r'<table border="1" class="', '<table class="sortable ', source)
    return f'<div class="table-wrapper">{source}</div>'


def without_home(text: str) -> str:
    """Text without the place where the project lies on this machine."""
    return text.replace(f"{paths.ROOT}/", "").replace(str(paths.ROOT), ".").replace(f"{Path.home()}/", "~/")


def _tables(folder: Path) -> str:
    files = [file.name for file in sorted(folder.glob("*.csv"))]
    links = [f'<a href="../figures/{folder.name}/{name}" download>{name}</a>' for name in files]
    return f"## Tables as files\n\n<p class='files'>{', '.join(links)}</p>" if links else ""


def _admonition(title: str, text: str) -> str:
    return f"```{{admonition}} {title}\n:class: warning\n\n{text}\n```\n"


def _checksum(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=8).hexdigest()
