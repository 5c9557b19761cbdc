"""The project's Markdown pages made ready for the site: links lead to what the site has."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from tools.site.sources import Sources

# Files that have a page of another name.
PAGES = {"README.md": "index.md", "LICENSE": "license.md", "CITATION.cff": "citations.md"}
_LINK = re.compile(r"(?<=\]\()([^)\s]+)(?=\))")
# In parentheses, as messages give it; in a table those are character references.
_ADDRESS = re.compile(r"( \(| &#40;)(https?://([^/\s()]+)[^\s()]*?)(?=\)|&#41;)")
_REMOTE_IMAGES = (
    re.compile(r"!\[(?P<alt>[^\]]*)\]\(https?://[^)]*\)"),
    re.compile(r"""<img\b(?=[^>]*\bsrc=["']https?://)(?=[^>]*\balt=["'](?P<alt>[^"']*))[^>]*>"""),
    re.compile(r"""<img\b(?=[^>]*\bsrc=["']https?://)(?P<alt>)[^>]*>"""),
)


def stage(text: str, origin: Path, sources: Sources, stage: Path) -> str:
    """Markdown of the file `origin` of the project, to be put at the same place in the stage.

    Images from elsewhere become their alternative text, and bare addresses links. A file that is linked and is no page
    is copied, so that the site offers it; a folder's link leads to the list of its pages.
    """
    for image in _REMOTE_IMAGES:
        text = image.sub(lambda match: match["alt"], text)
    text = _ADDRESS.sub(r"\1[\3](\2)", text)
    return _LINK.sub(lambda match: _target(match[1], origin, sources, stage), text)


def _target(link: str, origin: Path, sources: Sources, stage: Path) -> str:
    path, mark, fragment = link.partition("#")
    file = Path(os.path.normpath(origin.parent / path))
    if "://" in link or not path or not file.is_relative_to(sources.root) or not file.exists():
        return link
    inside = file.relative_to(sources.root)
    if str(inside) in PAGES:
        return os.path.relpath(sources.root / PAGES[str(inside)], origin.parent) + mark + fragment
    if file.is_dir():
        return f"{path.rstrip('/')}/index.md" if any(file.glob("*.md")) else link
    if file.suffix == ".ipynb":
        # The page of a study that has not been run is no notebook and has none of its headings.
        return link if (sources.figures / file.stem / file.name).exists() else path.removesuffix(".ipynb") + ".md"
    if file.suffix != ".md":
        copy(file, stage / inside)
    return link


def copy(file: Path, destination: Path) -> None:
    """Copy a file, making the folders above it."""
    destination.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, destination)


def with_citations(text: str, sources: Sources) -> str:
    """Markdown in which a key of the references, written as code, leads to its entry."""
    bibliography = (sources.root / "references.bib").read_text(encoding="utf-8")
    keys = set(re.findall(r"^@\w+\{(\w+),", bibliography, re.M))
    return re.sub(r"(?<!`)`(\w+)`(?!`)", lambda match: _citation(match, keys), text)


def _citation(match: re.Match[str], keys: set[str]) -> str:
    return f"{{cite:t}}{match[0]}" if match[1] in keys else match[0]


def with_gallery(readme: str, gallery: str) -> str:
    """The README as start page: its list of notebooks and its pictures give way to the gallery."""
    blocks = list(_blocks(readme))
    shows = [_is_gallery(block) for block in blocks]
    kept = [block for block, shown in zip(blocks, shows, strict=True) if not shown]
    place = shows.index(True) if any(shows) else next((i for i, b in enumerate(blocks) if b.startswith("## ")), 1)
    return "\n\n".join([*kept[:place], gallery, *kept[place:]]) + "\n"


def _is_gallery(block: str) -> bool:
    pictures = re.search(r"!\[[^\]]*\]\(figures/|<img[^>]+src=[\"']figures/", block)
    return bool(pictures) or (block.startswith("|") and "](notebooks/" in block)


def _blocks(text: str) -> Iterator[str]:
    """Paragraphs, with fenced code as one of them."""
    parts: list[str] = []
    for part in re.split(r"\n{2,}", text.strip()):
        parts.append(part)
        if "\n\n".join(parts).count("```") % 2 == 0:
            yield "\n\n".join(parts)
            parts = []
    if parts:
        yield "\n\n".join(parts)
