"""Pages of the committed results: the gallery, and the verdicts on all claims."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pandas as pd

from audit.ledger import CLAIMS, SEEN, UNTESTED, WORDS
from lib import embedders
from lib.base import parameters, paths
from tools.multiplicity import paragraph
from tools.pages import between, image, table
from tools.run import comparison

REFERENCE = paths.FIGURES / "reference"
ENDS = re.compile(r"ledger\.(?:table|answer)\(")  # the cell with all verdicts
PROFILES = ("default", "paper")
SMALLER = "GloVe 6B with 50 dimensions, where the paper has GloVe 840B with 300"
GOOGLE = "GloVe 6B with 50 dimensions, where the paper has Google's word2vec with 300"
REUTERS = "trained on Reuters, not on the paper's text"
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
POWER = re.compile(r"e([-+]\d+)")
# What is made here: page, mark, and the text behind the mark.


def _claims(folder: Path) -> pd.DataFrame:
    return pd.read_csv(
        folder / "claims.csv", dtype=str, keep_default_na=False
    ).set_index("id")


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
        elif f'"{id}"' in source or ENDS.search(source):
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
