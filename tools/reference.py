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
from functools import partial
from pathlib import Path

import nbformat
import pandas as pd
from nbconvert import MarkdownExporter

from audit.ledger import CLAIMS, SEEN, UNTESTED, WORDS
from lib import corpora, embedders, tasks
from lib.base import markdown, parameters, paths
from lib.base.errors import InputError, command
from tools.multiplicity import paragraph
from tools.pages import between, image, table
from tools.run import comparison
from tools.run.jobs import Job, select

REFERENCE = paths.FIGURES / "reference"
PROFILES = ("default", "paper")
PAPERS = {
    "n2o": "Situating Sentence Embedders with Nearest Neighbor Overlap",
    "sent2vec": (
        "Unsupervised Learning of Sentence Embeddings using Compositional n-Gram "
        "Features"
    ),
    "pitfalls": "Pitfalls in the Evaluation of Sentence Embeddings",
    "usif": "Unsupervised Random Walk Sentence Embeddings",
    "localization": "How Well Sentence Embeddings Capture Meaning",
}
# Texts whose licenses forbid redistribution: their sentences are named by number.
RESTRICTED = {
    "reuters": corpora.load,
    "MSRP-groups": tasks.load,
    "Opinosis-groups": tasks.load,
}
SHOWN = 46  # characters of a long text that pandas shows
SMALLER = "GloVe 6B with 50 dimensions, where the paper has GloVe 840B with 300"
GOOGLE = "GloVe 6B with 50 dimensions, where the paper has Google's word2vec with 300"
REUTERS = "trained on Reuters, not on the paper's text"
# What differs from the paper, by method.
DIFFERS = {
    **dict.fromkeys(["SIF", "SIF tuned", "uSIF"], SMALLER),
    **dict.fromkeys(["MOWE", "SOWE"], GOOGLE),
    **dict.fromkeys(["PV-DM", "PV-DBOW"], REUTERS),
    "URAE": "trained here, on Reuters; the paper has published weights",
    **dict.fromkeys(["BOW", "PCA BOW"], "folds, tokenizer and C are not published"),
}
# The tables of like for like in the paper profile: the paper, the column with the
# method, and the table.
BESIDE = [
    ("usif", "composition", "beside_the_paper.csv"),
    ("localization", "model", "table_1.csv"),
]
STYLE = re.compile(r"<style.*?</style>\n?", re.DOTALL)
NOTEBOOK = re.compile(r"notebooks/((?:replication/)?\w+)\.ipynb")
POWER = re.compile(r"e([-+]\d+)")
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


def _claims(folder: Path) -> pd.DataFrame:
    return pd.read_csv(
        folder / "claims.csv", dtype=str, keep_default_na=False
    ).set_index("id")


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
    default results: they have no others.
    """
    for cell in notebook.cells:
        if cell.cell_type == "code":
            shown = (_shown(output, name, profile) for output in cell.outputs)
            cell.outputs = [output for output in shown if output is not None]
        else:
            cell.source = _with_links_moved(cell.source, name, profile)
    text, _ = MarkdownExporter().from_notebook_node(notebook)
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


# -- the gallery and the verdicts ------------------------------------------------------


def gallery() -> str:
    """A page with every notebook of every profile: its title and its figures."""
    parts = [
        "# Results",
        "Every notebook with its results, as a page; click a title to read it.",
    ]
    for profile in PROFILES:
        parts.append(f"## The {profile} profile")
        for folder in comparison.results_of(REFERENCE / profile).values():
            text = (folder / "README.md").read_text(encoding="utf-8")
            title = re.search(r"^# (.+)", text, re.MULTILINE)[1]
            figures = [
                f'<a href="{picture.relative_to(REFERENCE)}">'
                f"{image(picture, REFERENCE)}</a>"
                for picture in sorted(folder.glob("*.png"))
            ]
            link = f"{folder.relative_to(REFERENCE)}/README.md"
            parts.append("\n".join([f"### [{title}]({link})\n", *figures]))
    return "\n\n".join(parts) + "\n"


def counts() -> str:
    """How many claims of each paper have which verdict, in each profile."""
    listed = _listed()
    rows = []
    for source in PAPERS:
        ids = listed.index[listed["source"] == source]
        for profile in PROFILES:
            every = _claims(REFERENCE / profile)
            judged = every.loc[every.index.isin(ids), "verdict"]
            link = f"[{source}](#{_anchor(PAPERS[source])})"
            row = {"paper": link, "profile": profile}
            rows.append(row | {word: (judged == word).sum() for word in WORDS})
    return _table(pd.DataFrame(rows))


def verdicts(source: str) -> str:
    """Each claim of a paper: its number, ours, and the verdict.

    The paper profile is shown where it can test the claim, else the default one.
    """
    listed = _listed()
    claims = listed[listed["source"] == source]
    found = {profile: _claims(REFERENCE / profile) for profile in PROFILES}
    return _table(
        pd.DataFrame([_row(id, claim, found) for id, claim in claims.iterrows()])
    )


def verdict_figure(source: str) -> str:
    """The figure with the verdicts on a paper, where its replication has been run."""
    for profile in reversed(PROFILES):
        file = REFERENCE / profile / "replication" / source / "verdicts.png"
        if file.exists():
            place = file.relative_to(paths.ROOT)
            alt = "A row for each claim: our interval over the region of its rule."
            return f"![{alt}](../{place})"
    return ""


def _listed() -> pd.DataFrame:
    rules = pd.read_csv(CLAIMS, dtype=str, keep_default_na=False)
    return rules.drop_duplicates("id").set_index("id")


def chance() -> str:
    """How many verdicts would fall by chance, and which are near their threshold."""
    return paragraph(
        {profile: _claims(REFERENCE / profile).reset_index() for profile in PROFILES}
    )


def like_for_like() -> pd.DataFrame:
    """The same method on the same set: the paper's number, ours, and the differences.

    The last column says what differs in the means.
    """
    parts = []
    for source, method, name in BESIDE:
        stored = REFERENCE / "paper" / paths.REPLICATION / source / name
        beside = pd.read_csv(stored).dropna(subset=["paper", "ours"])
        numbers = beside[["paper", "ours"]]
        numbers = numbers.mask(numbers <= 1, 100 * numbers).round({"paper": 2})
        columns = {
            "paper of": source,
            "set": beside["set"],
            "method": beside[method],
            "paper": numbers["paper"],
            "ours": numbers["ours"].round(1),
            "difference": (numbers["ours"] - numbers["paper"]).round(1) + 0.0,
            "what differs": beside[method].map(DIFFERS),
        }
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts)


def _row(id: str, claim: pd.Series, found: dict[str, pd.DataFrame]) -> dict[str, str]:
    known = {name: table.loc[id] for name, table in found.items() if id in table.index}
    tested = [name for name in known if known[name]["verdict"] != UNTESTED]
    shown = tested[-1] if tested else next(iter(known))
    judged = known[shown]
    verdict = _linked(id, judged, shown)
    others = [name for name in tested if known[name]["verdict"] != judged["verdict"]]
    verdict += "".join(
        f" ({name}: {_linked(id, known[name], name)})" for name in others
    )
    return {
        "claim": f"{claim['claim']} ({claim['where']})",
        "the paper": claim["published"],
        "ours": deciding(id, judged),
        "verdict": verdict,
    }


def _linked(id: str, judged: pd.Series, profile: str) -> str:
    verdict = judged["verdict"]
    merged = re.match(r"merged: into ([\w-]+)", verdict)
    if merged:
        id = merged[1]
        verdict = "merged with another claim"
    return f"[{verdict}]({_place(id, judged['study'], profile)})"


def deciding(id: str, judged: pd.Series) -> str:
    """What was measured and what came out, of the part that decides a claim.

    Of several parts with the claim's verdict, one with an interval takes precedence
    over an exact value, and that over an identity. If the claim cannot be tested,
    returns what is missing.

    Parameters
    ----------
    id : str
    judged : Series
        The claim's row in the table of verdicts.
    """
    rules = pd.read_csv(CLAIMS, dtype=str, keep_default_na=False)
    rules = rules[rules["id"] == id].set_index("part")
    if judged["verdict"] == UNTESTED:
        needed = rules.loc[rules["default"] == "no", "needs"].unique()
        if len(needed):
            return f"missing: {'; '.join(needed)}"
        notes = judged["note"].split("; ")
        missing = [note for note in notes if note.startswith("missing: ")]
        return missing[0] if missing else f"missing: {notes[0]}"
    if judged["verdict"] not in WORDS:
        return ""
    measured = _of_verdict(judged)
    alike = rules.loc[[part for part in measured if part in rules.index]]
    if alike.empty:
        raise ValueError(f"{id}: no part decides {judged['verdict']!r}")

    def place(part: str) -> tuple[bool, bool]:
        has_interval = measured[part].endswith(")")
        return not has_interval, alike.loc[part, "kind"] == "identity"

    part = min(alike.index, key=place)
    numbers = POWER.sub(_power, measured[part])
    return f"{alike.loc[part, 'measured']} **{numbers}**"


def _of_verdict(judged: pd.Series) -> dict[str, str]:
    """What came out of each part that has the claim's verdict, without remarks."""
    ours = judged["ours"]
    verdict = judged["verdict"]
    if ": " not in ours:
        return {"": ours}
    unseen = {seen: word for word, seen in SEEN.items()}
    word = f" {unseen.get(verdict, verdict)}"
    parts = (entry.partition(": ") for entry in ours.split("; "))
    return {
        part: numbers.removesuffix(word)
        for part, _, numbers in parts
        if numbers.endswith(word)
    }


def _power(exponent: re.Match[str]) -> str:
    return f" &times; 10<sup>{int(exponent[1])}</sup>"


def _place(id: str, name: str, profile: str) -> str:
    """The heading of a notebook's page under which a claim is judged.

    The page itself where the notebook judges it no longer.
    """
    page = f"../figures/reference/{profile}/{name}/README.md"
    heading = ""
    for cell in parameters.cells(paths.NOTEBOOKS / f"{name}.ipynb"):
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            # Each site makes a different anchor from a heading with a formula.
            headings = re.findall(r"^#+ ([^$\n]+)$", source, re.MULTILINE)
            heading = headings[-1] if headings else heading
        elif f'"{id}"' in source or "ledger.table()" in source:
            return f"{page}#{_anchor(heading)}"
    return page


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def choosing() -> str:
    """What each embedder of the default group reaches, in both profiles.

    In retrieval, similarity and classification.
    """
    both = _scores("default", "verses").join(_scores("paper", "paper's data"))
    both.insert(0, "family", [embedders.family(name) for name in both.index])
    return _table(both.rename_axis("embedder").reset_index())


def _scores(profile: str, what: str) -> pd.DataFrame:
    folder = REFERENCE / profile / paths.REPLICATION / "pitfalls"
    mrr = reciprocal_ranks(profile)
    similar = pd.read_csv(folder / "ucp.csv")
    similar = similar[similar["set"] == similar["set"].iloc[0]].pivot(
        index="embedder", columns="what", values="value"
    )
    classified = pd.read_csv(folder / "transfer.csv", index_col="embedder")
    columns = {
        f"retrieval, {what}": mrr,
        f"similarity, {what}": similar["raw"],
        f"z-normalized, {what}": similar["z"],
        f"classification, {what}": classified.query(
            "condition == 'logistic' and task == 'mean'"
        )["accuracy"],
    }
    return pd.DataFrame(columns, mrr.index).round(2)


def reciprocal_ranks(profile: str) -> pd.Series:
    """The MRR of each embedder: of lesson 4, or in the paper profile of N2O."""
    found = REFERENCE / profile
    if profile == "paper":
        table_4 = pd.read_csv(found / paths.REPLICATION / "n2o" / "table_4.csv")
        return table_4.set_index("model")["mrr"].dropna()
    lesson = found / "04_paraphrase_mrr" / "mrr.csv"
    return pd.read_csv(lesson, index_col="embedder")["mrr"]


def tables() -> str:
    """Every table of the results with its columns and its rows in each profile."""
    found: dict[str, dict[str, object]] = {}
    for profile in PROFILES:
        for study, folder in comparison.results_of(REFERENCE / profile).items():
            short = study if study.startswith(paths.REPLICATION) else study[:2]
            for file in folder.glob("*.csv"):
                frame = pd.read_csv(file)
                empty = {"study": short, "table": file.name, "default": "", "paper": ""}
                row = found.setdefault(f"{study}/{file.name}", empty)
                row[profile] = f"[{len(frame)}](../{file.relative_to(paths.ROOT)})"
                columns = [f"`{column}`" for column in frame.columns]
                some = (
                    columns if len(columns) <= 9 else [*columns[:3], "...", columns[-1]]
                )
                row.setdefault("columns", ", ".join(some))
    return _table(pd.DataFrame([found[place] for place in sorted(found)]))


def _table(rows: pd.DataFrame) -> str:
    return table(
        rows.astype(object).fillna("").astype(str).replace(r"\|", r"\\|", regex=True)
    )


# What is made here: page, mark, and the text behind the mark.
MADE = [
    ("docs/replication.md", "counts", counts),
    *(("docs/replication.md", source, partial(verdicts, source)) for source in PAPERS),
    *(
        ("docs/replication.md", f"{source}-figure", partial(verdict_figure, source))
        for source in PAPERS
    ),
    ("docs/replication.md", "like-for-like", lambda: _table(like_for_like())),
    ("docs/choosing.md", "scores", choosing),
    ("docs/tables.md", "tables", tables),
    ("docs/claims.md", "chance", chance),
]


def write_pages() -> None:
    """Renew the gallery and the results that pages quote."""
    (REFERENCE / "README.md").write_text(gallery(), encoding="utf-8")
    for name, mark, made in MADE:
        text = between(name, mark, f"\n{made()}")
        (paths.ROOT / name).write_text(text, encoding="utf-8")


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
