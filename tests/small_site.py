"""A project of two small studies, one of them executed, from which a site is built in seconds."""

from __future__ import annotations

import json
from base64 import b64encode
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image, PngImagePlugin

from lib.run import paths
from tools.site import Sources

ALT = 'Two bars: "a" < b'
OPENING = """# 1. Bars: which is longer?

**Question.** Which of two bars is longer, in words of `x`?

**Paper.** None."""
SHOWING = 'plotting.show(figure, NOTEBOOK, "toy", "")\nplotting.show(figure, NOTEBOOK, "bars", "")'
LESSON = """## Glossary

| term | meaning | in code |
|---|---|---|
| $C$ | the corpus, $\\lvert C\\rvert$ sentences | `corpus` |

See [the other study](02_second.ipynb), [what is said of it](02_second.ipynb#glossary), [the data](../docs/data.md),
[the parameters](../params/smoke/01_first.yaml) and [the project](../README.md#use).

$$\\sum_{j=1}^{n} \\bigl\\lvert N_A(q_j) \\cap N_B(q_j) \\bigr\\rvert
+ a_1 + a_2 + a_3 + a_4 + a_5 + a_6 + a_7 + a_8 + a_9 + b_1 + b_2 + b_3 + b_4 + b_5 + b_6 + b_7 + b_8 + b_9 + b_0$$"""
SOLUTION = "<details><summary>Solution</summary>\n\n```python\n# add\nprint(1 + 1)\n```\n\nTwo comes out.\n\n</details>"
TABLE = (
    '<div>\n<style scoped>th {color: red}</style>\n<table border="1" class="dataframe">\n<thead><tr><th></th>'
    + "".join(f"<th>a rather wide column {number}</th>" for number in range(9))
    + "</tr></thead>\n<tbody>"
    + "".join(f"<tr><th>{row}</th>{f'<td>{value}</td>' * 9}</tr>" for row, value in enumerate(["10", "9", "", "1,000"]))
    + "</tbody></table></div>"
)
README = """# Small studies

[![Badge](https://example.org/badge.svg)](https://example.org/run) What it is.
<a href="https://example.org/other"><img alt="Other badge" src="https://example.org/badge.svg"></a>

```sh
make figures

make test
```

## The studies

| notebook | question |
|---|---|
| [1. Bars](notebooks/01_first.ipynb) | Which? |

![A picture that the gallery shows](figures/reference/default/01_first/bars.png)

The corpus.

## Use

See [benchmarks](docs/benchmarks), [the license](LICENSE), [security](SECURITY.md) and [how to cite](CITATION.cff).
"""
DATA = "# Data\n\n| asset | cite |\n|---|---|\n| `glove` | `author2000title` |\n"
BENCHMARK = "# Search\n\n![Bars of seconds](search.png)\n"
BIBLIOGRAPHY = """@article{author2000title,
  author = {Author, A.},
  title = {{A title}},
  journal = {A journal},
  year = {2000},
}

@misc{tool2001, author = {Tool, B.}, title = {{A tool}}, year = {2001}, keywords = {tool}}

@misc{paper2002, author = {Paper, C.}, title = {{A paper}}, year = {2002}, keywords = {paper}}
"""


def make(root: Path) -> Sources:
    """Write the project into a folder and return what a site is built from."""
    for name, text in _texts().items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    (root / "docs/benchmarks/search.png").write_bytes(picture(300, "Bars of seconds"))
    results = root / "figures/default/01_first"
    results.mkdir(parents=True)
    (results / "toy.png").write_bytes(picture(30, "A toy"))
    (results / "bars.png").write_bytes(picture(900, ALT))
    (results / "bars.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 3"/>')
    (results / "bars.csv").write_text("a,b\n1,2\n")
    (results / "01_first.ipynb").write_text(json.dumps(notebook(first(executed=True))))
    return Sources(
        root, root / "figures/default", ("lib.run.errors", "lib.run.markdown", "lib.pitfalls", "lib.similarity")
    )


def _texts() -> dict[str, str]:
    second = [markdown("# 2. Lines: which is straight?\n\n**Question.** Which line is straight?")]
    return {
        "README.md": README,
        "LICENSE": "MIT\n",
        "SECURITY.md": "# Security\n\nSee [the data](docs/data.md).\n",
        "CITATION.cff": "title: Small studies\n",
        "references.bib": BIBLIOGRAPHY,
        "docs/data.md": DATA,
        "docs/benchmarks/search.md": BENCHMARK,
        "params/smoke/01_first.yaml": "k: 2\n",
        "notebooks/01_first.ipynb": json.dumps(notebook(first(executed=False))),
        "notebooks/02_second.ipynb": json.dumps(notebook(second)),
    }


def first(executed: bool) -> list[dict[str, Any]]:
    """The cells of the first study; papermill adds one to what it executes."""
    shown = [
        image(picture(900, ALT), ALT),
        image(picture(40, "A look"), "A look"),
        {"output_type": "execute_result", "execution_count": 1, "data": {"text/html": TABLE}, "metadata": {}},
        {"output_type": "stream", "name": "stdout", "text": [f"read {paths.ROOT}/data/x.txt of {paths.ROOT}\n"]},
        words("Ours is **3**: $a < b$."),
    ]
    added = [code("k = 3", [], ["injected-parameters"])] if executed else []
    return [
        markdown(OPENING),
        code("k = 2  # neighbors", [], ["parameters"]),
        code("# " + "a line as long as they may be ".ljust(118, "."), []),
        *added,
        markdown(LESSON),
        code(SHOWING, shown * executed),
        code("Markdown(reading)", [words("**What to see.** Bars."), words("")] * executed),
        code("Markdown(missing)", [words("`w2v` is left out (https://example.org/long/w2v)")] * executed),
        markdown("# Part 1. A second heading of the highest level\n\n## A smaller one"),
        markdown(SOLUTION),
        markdown("# Findings and limits"),
        code("Markdown(found)", [words("- Bars are long.")] * executed),
    ]


def notebook(cells: list[dict[str, Any]]) -> dict[str, Any]:
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    numbered = [cell | {"id": f"cell-{number}"} for number, cell in enumerate(cells)]
    return {"cells": numbered, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}


def markdown(source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def code(source: str, outputs: list[dict[str, Any]], tags: list[str] | None = None) -> dict[str, Any]:
    metadata = {"tags": tags} if tags else {}
    return {"cell_type": "code", "metadata": metadata, "source": source, "outputs": outputs, "execution_count": None}


def image(content: bytes, alt: str) -> dict[str, Any]:
    """An output as `lib.plotting.show` makes it."""
    png = b64encode(content).decode()
    data = {"text/html": f'<img src="data:image/png;base64,{png}">', "image/png": png, "text/plain": alt}
    return {"output_type": "display_data", "data": data, "metadata": {"image/png": {"width": 600, "alt": alt}}}


def words(text: str) -> dict[str, Any]:
    """An output of `Markdown`."""
    data = {"text/markdown": text, "text/plain": "<IPython.core.display.Markdown object>"}
    return {"output_type": "display_data", "data": data, "metadata": {}}


def picture(width: int, description: str) -> bytes:
    """A PNG as `lib.plotting.save` makes it."""
    text = PngImagePlugin.PngInfo()
    text.add_text("Description", description)
    stream = BytesIO()
    Image.new("RGB", (width, 300), "white").save(stream, "PNG", pnginfo=text)
    return stream.getvalue()
