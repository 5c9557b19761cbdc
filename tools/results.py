"""Pages of the committed results: the gallery, and the verdicts on all claims."""

from __future__ import annotations

import json
import re
from functools import cache, partial

import pandas as pd

from audit.ledger import CLAIMS, SEEN, UNTESTED, WORDS
from audit.shown import anchor, numbers, short_name
from audit.verdicts import on_claim
from lib import embedders
from lib.base import parameters, paths
from lib.stats import Interval
from tools.multiplicity import paragraph
from tools.pages import between, image, table
from tools.run import comparison

REFERENCE = paths.FIGURES / "reference"
VERDICTS, LINKED = "verdicts.csv", "verdicts.jsonld"
PROFILES = ("default", "paper")
PAGES = "../../figures/reference"  # seen from docs/replication
SMALLER = "GloVe 6B with 50 dimensions, where the paper has GloVe 840B with 300"
GOOGLE = "GloVe 6B with 50 dimensions, where the paper has Google's word2vec with 300"
REUTERS = "trained on Reuters, not on the paper's text"
PAPERS = ("n2o", "sent2vec", "pitfalls", "usif", "localization")
# What differs from the paper, by method.
DIFFERS = {
    **dict.fromkeys(["SIF", "SIF tuned", "uSIF"], SMALLER),
    **dict.fromkeys(["MOWE", "SOWE"], GOOGLE),
    **dict.fromkeys(["PV-DM", "PV-DBOW"], REUTERS),
    "URAE": "trained here, on Reuters; the paper has published weights",
    **dict.fromkeys(["BOW", "PCA BOW"], "folds, tokenizer and C are not published"),
}
# Columns of the verdicts in the words of schema.org.
SCHEMA = {
    "part": "name",
    "measured": "description",
    "evidence": "additionalType",
    "note": "measurementMethod",
    "rule": "measurementTechnique",
    "estimate": "value",
    "low": "minValue",
    "high": "maxValue",
    "result": "valueReference",
}
# The tables of like for like in the paper profile: the column with the method.
BESIDE = {
    "usif": ("composition", "beside_the_paper.csv"),
    "localization": ("model", "table_1.csv"),
}
POWER = re.compile(r"e([-+]\d+)")


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


def gathered() -> pd.DataFrame:
    """A row for each part of each claim in each profile, with a link to its place."""
    found = {}
    for profile in PROFILES:
        for study, folder in comparison.results_of(REFERENCE / profile).items():
            if (folder / VERDICTS).exists():
                parts = pd.read_csv(folder / VERDICTS).fillna({"part": ""})
                rows = parts.iterrows()
                links = [_place(part, study, profile) for _, part in rows]
                found[profile, study] = parts.assign(link=links)
    every = pd.concat(found, names=["profile", "study", None])
    every = every.reset_index(["profile", "study"])
    rules = pd.read_csv(CLAIMS, dtype=str, keep_default_na=False)
    every = every.merge(rules[["id", "part", "measured"]], "left", ["id", "part"])
    text = every.columns.difference(["estimate", "low", "high"])
    return every.fillna(dict.fromkeys(text, ""))


def linked() -> str:
    """The same as JSON-LD in the words of schema.org: a review for each claim."""
    claims = pd.read_csv(CLAIMS, dtype=str, keep_default_na=False)
    claims = claims.drop_duplicates("id").set_index("id")
    reviews = []
    for (profile, study, id), parts in gathered().groupby(
        ["profile", "study", "id"], sort=False
    ):
        source, where, claim = claims.loc[id, ["source", "where", "claim"]]
        paper = {"@type": "ScholarlyArticle", "name": source, "pagination": where}
        review = {
            "@type": "ClaimReview",
            "@id": f"{profile}/{id}",
            "claimReviewed": claim,
            "itemReviewed": {"@type": "Claim", "appearance": paper},
            "reviewAspect": f"{profile} profile",
            "reviewRating": {
                "@type": "Rating",
                "alternateName": parts.iloc[0]["verdict"],
            },
            "url": parts.iloc[0]["link"],
            "isBasedOn": {"@type": "SoftwareSourceCode", "url": _cell(id, study)},
            "about": [_measured(part) for _, part in parts.iterrows()],
        }
        reviews.append(review)
    described = {"@context": "https://schema.org/", "@type": "Dataset", "name": LINKED}
    return json.dumps(described | {"hasPart": reviews}, indent=1) + "\n"


def _measured(part: pd.Series) -> dict[str, object]:
    """What was measured of a part of a claim, on which evidence, by which rule."""
    given = part.rename(SCHEMA)[[*SCHEMA.values()]]
    return {"@type": "PropertyValue", **given[given != ""].dropna()}


def counts() -> str:
    """How many claims of each paper have which verdict, in each profile."""
    claims = gathered().drop_duplicates(["profile", "id"])
    rows = []
    for source in PAPERS:
        of_paper = claims[claims["study"] == f"{paths.REPLICATION}/{source}"]
        for profile in PROFILES:
            judged = of_paper.loc[of_paper["profile"] == profile, "verdict"]
            row = {"paper": f"[{source}](replication/{source}.md)", "profile": profile}
            rows.append(row | {word: (judged == word).sum() for word in WORDS})
    return _table(pd.DataFrame(rows))


def claims_of(source: str) -> str:
    """Each claim of a paper: its numbers, ours, and the verdict.

    Each part has its best evidence: the paper's own before a stand-in, and the paper
    profile before the default one.
    """
    every = gathered()
    every = every[every["study"] == f"{paths.REPLICATION}/{source}"]
    listed = pd.read_csv(CLAIMS, dtype=str, keep_default_na=False)
    listed = listed[listed["source"] == source]
    rows = [
        _row(parts, every[every["id"] == id])
        for id, parts in listed.groupby("id", sort=False)
    ]
    return _table(pd.DataFrame(rows))


def chance() -> str:
    """How many verdicts would fall by chance, and which are near their threshold."""
    return paragraph(gathered())


def like_for_like(source: str) -> str:
    """The same method on the same set: the paper's number, ours, and the difference.

    The last column says what differs in the means.
    """
    method, name = BESIDE[source]
    stored = REFERENCE / "paper" / paths.REPLICATION / source / name
    beside = pd.read_csv(stored).dropna(subset=["paper", "ours"])
    points = beside[["paper", "ours"]]
    points = points.mask(points <= 1, 100 * points).round({"paper": 2})
    columns = {
        "set": beside["set"],
        "method": beside[method],
        "paper": points["paper"],
        "ours": points["ours"].round(1),
        "difference": (points["ours"] - points["paper"]).round(1) + 0.0,
        "what differs": beside[method].map(DIFFERS),
    }
    return _table(pd.DataFrame(columns))


def _row(listed: pd.DataFrame, found: pd.DataFrame) -> dict[str, str]:
    """A claim's row, from the parts that are listed and what was found of them."""
    claim = listed.iloc[0]
    row = {
        "claim": f"*{short_name(claim['id'])}*: {claim['claim']} ({claim['where']})",
        "the paper": claim["published"],
        "ours": "",
        "verdict": claim["status"].replace("merged: into", "merged with"),
    }
    if claim["status"]:
        return row
    if found.empty:
        return row | {"verdict": "not run yet"}
    measured = listed.set_index("part")["measured"]
    # A profile that has not been run since may have parts that the list has no more.
    is_listed = found["part"].isin(measured.index)
    best = best_evidence(found[is_listed & (found["decides"] == "yes")])
    ours = [_finding(part, measured[part["part"]]) for _, part in best.iterrows()]
    best["combine"] = claim["combine"]
    best["stand_in"] = best["evidence"] == "stand-in"
    best["verdict"] = best["result"].replace({seen: raw for raw, seen in SEEN.items()})
    return row | {"ours": "<br>".join(ours), "verdict": on_claim(best)}


def best_evidence(parts: pd.DataFrame) -> pd.DataFrame:
    """Of each part of a claim the row of the profile with the best evidence."""
    order = parts["evidence"].map(["own", "stand-in", "missing"].index)
    is_refused = parts["result"] == UNTESTED
    ranked = parts.assign(order=order, is_refused=is_refused)
    ranked = ranked.sort_values(
        ["is_refused", "order", "profile"], ascending=[True, True, False]
    )
    return ranked.drop_duplicates("part").sort_index()


def _finding(part: pd.Series, measured: str) -> str:
    """What was measured of a part, what came out, and the verdict with its link."""
    ours = f"{measured} "
    if part["evidence"] == "missing":
        ours = f"Missing: {part['note']}. "
    elif pd.notna(part["estimate"]):
        low, high = part[["low", "high"]].fillna(part["estimate"])
        found = numbers(Interval(part["estimate"], low, high))
        ours += f"**{POWER.sub(_power, found)}** "
    return f"{ours}[{part['result']}]({PAGES}/{part['link']})"


def _power(exponent: re.Match[str]) -> str:
    return f" &times; 10<sup>{int(exponent[1])}</sup>"


def _place(part: pd.Series, study: str, profile: str) -> str:
    """The block of a page where a part is judged, or the page that judges it not.

    The site shows the page of one profile, so that both must have the block.
    """
    place = f'id="{anchor(part["id"], part["part"])}"'
    pages = [f"{each}/{study}/README.md" for each in (profile, *PROFILES)]
    texts = [(REFERENCE / page).read_text(encoding="utf-8") for page in pages]
    if all(place in text for text in texts):
        return f"{pages[0]}#{place[4:-1]}"
    return pages[0]


@cache
def _cell(id: str, name: str) -> str:
    """The notebook that judges a claim, and the id of the cell that does."""
    notebook = f"notebooks/{name}.ipynb"
    for cell in parameters.cells(paths.ROOT / notebook):
        source = "".join(cell["source"])
        judges = f'"{id}"' in source or "ledger.answer(" in source
        if cell["cell_type"] == "code" and judges:
            return f"{notebook}#{cell['id']}"
    return notebook


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
    return pd.read_csv(lesson, index_col="embedder")["value"]


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
    *(
        (f"docs/replication/{source}.md", "claims", partial(claims_of, source))
        for source in PAPERS
    ),
    *(
        (
            f"docs/replication/{source}.md",
            "like-for-like",
            partial(like_for_like, source),
        )
        for source in BESIDE
    ),
    ("docs/choosing.md", "scores", choosing),
    ("docs/tables.md", "tables", tables),
    ("docs/claims.md", "chance", chance),
]


def write_pages() -> None:
    """Renew the gallery and the results that pages quote."""
    (REFERENCE / "README.md").write_text(gallery(), encoding="utf-8")
    gathered().to_csv(REFERENCE / VERDICTS, index=False, lineterminator="\n")
    (REFERENCE / LINKED).write_text(linked(), encoding="utf-8")
    for name, mark, made in MADE:
        text = between(name, mark, f"\n{made()}")
        (paths.ROOT / name).write_text(text, encoding="utf-8")
