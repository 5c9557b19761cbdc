"""Make the last results the committed ones: ``python -m tools.reference``, which ``make reference`` calls.

``figures/reference/<profile>/<study>/`` gets the tables, the figures, the parameters and ``README.md``, the executed
lesson as a page. ``figures/reference/README.md`` is the gallery, ``docs/replication.md`` the verdicts on all claims.
"""

from __future__ import annotations

import argparse
import html
import json
import re
import shutil
import sys
from pathlib import Path

import nbformat
import pandas as pd
from nbconvert import MarkdownExporter

from lib import catalog, corpora, embedders, tasks
from lib.run import markdown, parameters, paths, reference
from lib.run.errors import InputError, command
from lib.run.jobs import Job, select
from lib.stats import CLAIMS
from tools.pages import between, image, table

REFERENCE = paths.FIGURES / "reference"
PROFILES = ("default", "paper")
PAPERS = {
    "n2o": "Situating Sentence Embedders with Nearest Neighbor Overlap",
    "sent2vec": "Unsupervised Learning of Sentence Embeddings using Compositional n-Gram Features",
    "pitfalls": "Pitfalls in the Evaluation of Sentence Embeddings",
    "usif": "Unsupervised Random Walk Sentence Embeddings",
    "localization": "How Well Sentence Embeddings Capture Meaning",
}
# Text whose license forbids to pass it on: its sentences are named by number.
RESTRICTED = {"reuters": corpora.load, "MSRP-groups": tasks.load, "Opinosis-groups": tasks.load}
SHOWN = 46  # characters of a long text that pandas shows
REMARK = """> This is the lesson in the profile `paper`: the paper's own data and settings, as far as they are at hand.
> Its text was written for the default run. Where the two differ, the tables, figures and verdicts on this page are
> those of this run."""
LIKE_FOR_LIKE = """The same method on the same set, in the paper profile: accuracy in percent, or correlation times 100.
Intervals are in the studies' tables `beside_the_paper.csv` and `protocols_beside_table_1.csv`. What
differs is not shown to be the cause."""
SMALLER = "GloVe 6B with 50 dimensions, where the paper has GloVe 840B with 300"
GOOGLE = "GloVe 6B with 50 dimensions, where the paper has Google's word2vec with 300"
REUTERS = "trained on Reuters, not on the paper's text"
# What differs from the paper, by method.
DIFFERS = {
    **dict.fromkeys(["SIF", "SIF tuned", "uSIF"], SMALLER),
    **dict.fromkeys(["MOWE", "SOWE"], GOOGLE),
    **dict.fromkeys(["PV-DM", "PV-DBOW"], REUTERS),
    "URAE": "trained here, on Reuters; the paper has published weights",
    "BOW": "which sentences were in which fold is not published",
}
# The tables of like for like in the paper profile, and their column with the method.
BESIDE = {
    "06_usif_derivation/beside_the_paper.csv": "composition",
    "08_semantic_localization/protocols_beside_table_1.csv": "model",
}
VERDICTS = ("holds", "fails", "undecided", "not testable here")
STYLE = re.compile(r"<style.*?</style>\n?", re.DOTALL)
QUOTE = re.compile(r"(?:^>.*\n)+", re.MULTILINE)
LINK = re.compile(r"(\]\()(?!https?:|#|mailto:)([^)\s]+)(\))")


def renew(job: Job) -> Path:
    """Make the results of a job's last run the reference; returns its folder.

    Raises InputError if the results are not up to date.
    """
    if not job.is_up_to_date():
        raise InputError(f"{job.results}: not up to date; run make figures first")
    folder, instead = reference.folder(job), _instead(job)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for file in reference.kept(job.results, ".png"):
        shutil.copy(file, folder)
    for file in reference.kept(job.results, ".csv"):
        (folder / file.name).write_text(withhold(file.read_text(encoding="utf-8"), instead), encoding="utf-8")
    text = json.dumps(job.parameters, indent=1, ensure_ascii=False)
    (folder / reference.PARAMETERS).write_text(f"{text}\n", encoding="utf-8")
    lesson = page(nbformat.read(job.results / f"{job.name}.ipynb", as_version=4))
    if job.profile == "paper":
        lesson = lesson.replace("\n\n", f"\n\n{REMARK}\n\n", 1)
    (folder / "README.md").write_text(withhold(lesson, instead), encoding="utf-8")
    return folder


def head(study: str) -> str:
    """What stands at the head of a page of the paper profile: its text was written for the default run."""
    if not (REFERENCE / "paper" / study / "claims.csv").exists():  # study 0 judges nothing
        return f"{REMARK}\n"
    default, paper = (_claims(REFERENCE / profile / study) for profile in PROFILES)
    both = default.join(paper["verdict"].rename("here"), how="inner")
    lines = [REMARK, ">", "> Other verdicts than in the default run:", ">"]
    for row in both.itertuples():
        words = {row.verdict.split()[0], row.here.split()[0]}
        if len(words) == 2 and "not" not in words:
            lines.append(f"> - {row.claim} Default: {row.verdict}; here: **{row.here}**.")
    return "".join(f"{line}\n" for line in (lines if len(lines) > 4 else [REMARK]))


def _claims(folder: Path) -> pd.DataFrame:
    return pd.read_csv(folder / "claims.csv", dtype=str, keep_default_na=False).set_index("id")


def _instead(job: Job) -> dict[str, str]:
    """What stands in a page for places on this machine, and for sentences that may not be passed on."""
    named = json.dumps(job.parameters)
    places = {", ".join(map(str, catalog.folders())): "data", f"{paths.ROOT}/": ""}
    return places | {
        sentence: f"[{name} {i}]"
        for name, load in RESTRICTED.items()
        if f'"{name}"' in named
        for i, sentence in enumerate(load(name).sentences)
        if len(sentence.split()) > 3
    }


def withhold(text: str, instead: dict[str, str]) -> str:
    """A page or table with other text instead of some, escaped or cut as it may be; the longest goes first."""
    for sentence in sorted(instead, key=len, reverse=True):
        cut = html.escape(f"{sentence[:SHOWN]}...", quote=False)
        for form in (sentence, markdown.escape(sentence), html.escape(sentence), sentence.replace('"', '""'), cut):
            if form in text:
                text = text.replace(form, instead[sentence])
    return text


def page(notebook: nbformat.NotebookNode) -> str:
    """An executed lesson as Markdown, with its pictures by relative link."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            shown = (_shown(output) for output in cell.outputs)
            cell.outputs = [output for output in shown if output is not None]
        else:
            cell.source = LINK.sub(_link, cell.source)
    text, _ = MarkdownExporter().from_notebook_node(notebook)
    lines = [line.rstrip() for line in text.splitlines()]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"


def _shown(output: nbformat.NotebookNode) -> nbformat.NotebookNode | None:
    """An output as a page shows it: pictures by link, tables without a style; None for what a page cannot show."""
    data = output.get("data", {})
    if output.output_type == "stream":
        return output if output.name == "stdout" else None
    about = output.metadata.get("text/html", {})
    if "figure" in about:
        alt = about["alt"].replace("]", r"\]")
        text = f"![{alt}]({about['figure']}.png)" if about["figure"] else f"*A figure:* {alt}"
    elif "text/markdown" in data:
        text = LINK.sub(_link, data["text/markdown"])
    elif "text/html" in data:
        text = STYLE.sub("", data["text/html"])
    else:
        return None if "application/vnd.jupyter.widget-view+json" in data else output
    return nbformat.v4.new_output("display_data", {"text/markdown": f"\n{text}\n"})


def _link(found: re.Match[str]) -> str:
    """A link from ``notebooks/`` as one from a study's folder of the reference; lessons lead to their pages."""
    target, _, anchor = found[2].partition("#")
    if re.fullmatch(r"\d\d_\w+\.ipynb", target):
        moved = f"../{Path(target).stem}/README.md"
    else:
        moved = f"../../../{target}" if target.startswith("../") else f"../../../../notebooks/{target}"
    return found[1] + moved + (f"#{anchor}" if anchor else "") + found[3]


# -- the gallery and the verdicts -----------------------------------------------------------------


def gallery() -> str:
    """A page with every study of every profile: its title, its question and its figures."""
    parts = ["# Results", "Every lesson with its results, as a page; click a title to read it."]
    for profile in PROFILES:
        parts.append(f"## The {profile} profile")
        for lesson in sorted((REFERENCE / profile).glob("*/README.md")):
            title = re.search(r"^# (.+)", lesson.read_text(encoding="utf-8"), re.MULTILINE)[1]
            figures = [
                f'<a href="{picture.relative_to(REFERENCE)}">{image(picture, REFERENCE)}</a>'
                for picture in sorted(lesson.parent.glob("*.png"))
            ]
            parts.append("\n".join([f"### [{title}]({lesson.relative_to(REFERENCE)})\n", *figures]))
    return "\n\n".join(parts) + "\n"


def verdicts() -> str:
    """For each paper how many claims hold, and every claim with its number, ours and the verdict."""
    listed = pd.read_csv(CLAIMS, dtype=str, keep_default_na=False).drop_duplicates("id").set_index("id")
    found = {profile: _claims(REFERENCE / profile) for profile in PROFILES}
    parts = []
    for source, title in PAPERS.items():
        claims = listed[listed["source"] == source]
        parts.append(f"## {title}")
        for profile, every in found.items():
            judged = every["verdict"][every.index.isin(claims.index)]
            counts = [f"{judged.str.startswith(verdict).sum()} {verdict}" for verdict in VERDICTS]
            other = judged.str.startswith(("dropped", "merged")).sum()
            counts += [f"{other} dropped or merged"] if other else []
            parts.append(f"{profile.capitalize()} profile, {len(judged)} claims: {', '.join(counts)}.")
        parts.append(_table(pd.DataFrame([_row(id, claim, found) for id, claim in claims.iterrows()])))
    parts += ["## Like for like", LIKE_FOR_LIKE, _table(like_for_like())]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def like_for_like() -> pd.DataFrame:
    """Where the same method ran on the same set: the paper's number, ours, and what differs in the means."""
    parts = []
    for name, method in BESIDE.items():
        beside = pd.read_csv(REFERENCE / "paper" / name)
        numbers = beside[["paper", "ours"]]
        numbers = numbers.mask(numbers <= 1, 100 * numbers).round({"paper": 2})
        columns = {
            "study": name[:2],
            "set": beside["set"],
            "method": beside[method],
            "paper": numbers["paper"],
            "ours": numbers["ours"].round(1),
            "difference": (numbers["ours"] - numbers["paper"]).round(1),
            "what differs": beside[method].map(DIFFERS),
        }
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts)


def _row(id: str, claim: pd.Series, found: dict[str, pd.DataFrame]) -> dict[str, str]:
    row = {"claim": f"{claim['claim']} ({claim['where']})", "published": claim["published"]}
    notes = {}
    for profile, judged in found.items():
        if id in judged.index:
            row[f"ours, {profile}"] = judged.loc[id, "ours"]
            row[f"verdict, {profile}"] = f"[{judged.loc[id, 'verdict']}]({_place(id, claim['study'], profile)})"
            notes[profile] = str(judged.loc[id, "note"]).split("; ")
    common = [note for note in next(iter(notes.values())) if all(note in others for others in notes.values())]
    for profile, some in notes.items():
        own = ", ".join(note for note in some if note not in common)
        common += [f"{profile}: {own}"] if own else []
    return row | {"note": "; ".join(common)}


def _place(id: str, study: str, profile: str) -> str:
    """The heading of a lesson's page under which a claim is judged."""
    heading = ""
    for cell in parameters.cells(paths.NOTEBOOKS / f"{study}.ipynb"):
        source = "".join(cell["source"])
        # Of a heading with a formula every site makes another anchor.
        headings = re.findall(r"^#+ ([^$\n]+)$", source, re.MULTILINE) if cell["cell_type"] == "markdown" else []
        heading = headings[-1] if headings else heading
        if cell["cell_type"] == "code" and (f'"{id}"' in source or "ledger.table()" in source):
            break
    anchor = re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
    return f"../figures/reference/{profile}/{study}/README.md#{anchor}"


def choosing() -> str:
    """What each embedder of the default group reaches in retrieval, similarity and classification, in both profiles."""
    both = _scores("default", "verses").join(_scores("paper", "paper's data"))
    both.insert(0, "family", [embedders.family(name) for name in both.index])
    return _table(both.rename_axis("embedder").reset_index())


def _scores(profile: str, what: str) -> pd.DataFrame:
    found = REFERENCE / profile
    mrr = pd.read_csv(found / "04_paraphrase_mrr" / "mrr.csv", index_col="embedder")
    similar = pd.read_csv(found / "07_ucp_normalization" / "table2.csv")
    similar = similar[similar["set"] == similar["set"].iloc[0]].pivot(index="embedder", columns="what", values="value")
    classified = pd.read_csv(found / "07_ucp_normalization" / "transfer.csv", index_col="embedder")
    columns = {
        f"retrieval, {what}": mrr["mrr"],
        f"similarity, {what}": similar["raw"],
        f"z-normalized, {what}": similar["z"],
        f"classification, {what}": classified.query("condition == 'logistic' and task == 'mean'")["accuracy"],
    }
    return pd.DataFrame(columns, mrr.index).round(2)


def tables() -> str:
    """Every table of the results with its columns and its rows in each profile."""
    found: dict[str, dict[str, object]] = {}
    for file in sorted(REFERENCE.glob("*/*/*.csv"), key=lambda file: (file.parent.name, file.name)):
        profile, study, name = file.relative_to(REFERENCE).parts
        frame = pd.read_csv(file)
        row = found.setdefault(f"{study}/{name}", {"study": study[:2], "table": name, "default": "", "paper": ""})
        row[profile] = f"[{len(frame)}](../figures/reference/{profile}/{study}/{name})"
        columns = [f"`{column}`" for column in frame.columns]
        some = columns if len(columns) <= 9 else [*columns[:3], "...", columns[-1]]
        row["columns"] = ", ".join(some)
    return _table(pd.DataFrame(found.values()))


def _table(rows: pd.DataFrame) -> str:
    return table(rows.astype(object).fillna("").astype(str).replace(r"\|", r"\\|", regex=True))


# Pages whose second part is made here, behind a mark.
PAGES = {
    "docs/replication.md": ("claims", verdicts),
    "docs/choosing.md": ("scores", choosing),
    "docs/tables.md": ("tables", tables),
}


def write_pages() -> None:
    """Renew the gallery, the heads of the paper profile's pages, and what other pages take from the results."""
    for lesson in (REFERENCE / "paper").glob("*/README.md"):
        text = lesson.read_text(encoding="utf-8")
        lesson.write_text(text.replace(QUOTE.search(text)[0], head(lesson.parent.name), 1), encoding="utf-8")
    (REFERENCE / "README.md").write_text(gallery(), encoding="utf-8")
    for name, (mark, made) in PAGES.items():
        (paths.ROOT / name).write_text(between(name, mark, f"\n{made()}"), encoding="utf-8")


@command
def main(arguments: list[str] | None = None) -> int:
    """Renew the reference; the exit status is 0."""
    parser = argparse.ArgumentParser(prog="python -m tools.reference", description="Keep the last results.")
    parser.add_argument("--profile", default="default", choices=PROFILES)
    parser.add_argument("--notebook", default="", metavar="PREFIX", help="only notebooks whose name starts with this")
    options = parser.parse_args(arguments)
    for job in select(options.notebook, options.profile):
        print(f"{job.name}  kept in {renew(job)}")
    reference.gather_claims(REFERENCE / options.profile)
    write_pages()
    return 0


if __name__ == "__main__":
    sys.exit(main())
