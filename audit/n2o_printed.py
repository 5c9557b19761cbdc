"""Numbers printed in the N2O paper, with their sampling error.

Two printed numbers are compared unpaired: nobody has the paper's neighbors, so their
errors are taken to be independent, and intervals are wider than paired ones would be.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
import pandas as pd
from scipy.stats import norm

from audit import published
from lib import n2o
from lib.stats import Interval

PAIRS = 75  # of paraphrases in Table 4
ROUNDING = 0.01 / np.sqrt(12)  # standard deviation of what two digits leave out
TOP_5 = 1 / 5, 1 / 2  # reciprocal ranks of the ranks 2 to 5
BEYOND = 1 / 6  # the highest reciprocal rank of the others
DRAWS = 10_000  # of all printed scores


def overlaps() -> pd.DataFrame:
    """The printed N2O of every two embedders, NaN where it is not legible.

    Appendix B.1; where a cell is not legible, the number that section 5 states.
    """
    cells = published.cells("n2o_heatmap", ["a", "b"], value="n2o")
    stated = published.cells("n2o", "quantity")
    in_text = stated.reindex([" and ".join(pair) for pair in cells.index])
    cells = cells.fillna(pd.Series(in_text.to_numpy(), cells.index))
    return n2o.square(cells, list(dict.fromkeys(chain(*cells.index))))


def overlap_error() -> float:
    """The standard error of a printed N2O, or of a mean of several.

    The highest standard deviation that the paper prints for a sample of 100 queries, as
    an error of the mean of its five samples, and rounding. Means have the same queries,
    and no smaller error is claimed for them.
    """
    stated = published.cells("n2o", "quantity")
    of_sample = stated["highest standard deviation over samples"]
    return float(np.hypot(of_sample / np.sqrt(stated["query samples"]), ROUNDING))


def lead(table: pd.DataFrame, one: str, other: str, partners: Sequence[str]) -> float:
    """The N2O of one embedder minus another's in a table such as `overlaps`.

    The mean over those of the partners with which both have a legible number; NaN if
    there are none.
    """
    common = [name for name in partners if name not in (one, other)]
    return float((table.loc[one, common] - table.loc[other, common]).mean())


def leads(table: pd.DataFrame, name: str, without: Sequence[str] = ()) -> list[float]:
    """The `lead` of one embedder over each other, some embedders left out."""
    rest = [other for other in table if other not in without]
    rivals = [other for other in rest if other != name]
    return [lead(table, name, rival, rest) for rival in rivals]


def beyond_others(table: pd.DataFrame, pair: Sequence[str]) -> pd.Series:
    """The N2O of a pair minus that of either with each other embedder, if legible."""
    one, other = pair
    elsewhere = table[[one, other]].drop(index=[one, other])
    return table.loc[one, other] - elsewhere.stack().dropna()


def family(values: Sequence[float], errors: Sequence[float] | float) -> Interval:
    """The 95 % intervals of gaps that must all lie on one side of 0.

    Where not all of them do, one of them could be enough to fail the claim, and they
    are widened for their number (Bonferroni).
    """
    plain = single(values, errors)
    if (plain.low > 0).all() or (plain.high < 0).all():
        return plain
    return single(values, errors, len(plain.low))


def single(
    values: Sequence[float], errors: Sequence[float] | float, number: int = 1
) -> Interval:
    """The 95 % interval of each gap; of a number of gaps that count together."""
    values = np.asarray(values).round(6)
    half = norm.isf(0.025 / number) * np.broadcast_to(errors, values.shape)
    return Interval(values, values - half, values + half)


def gap_error(cells: int = 2) -> float:
    """The standard error of a sum or difference of so many printed N2O."""
    return float(np.sqrt(cells) * overlap_error())


def gaps(values: Sequence[float], cells: int = 2) -> Interval:
    """The `family` of sums and differences of so many printed N2O each."""
    return family(values, gap_error(cells))


def ranks() -> pd.DataFrame:
    """The MRR of Table 4 with the largest standard error that its counts allow.

    The paraphrases at the top have the reciprocal rank 1, those in the top five 1/5 to
    1/2, and the others at most 1/6. Of all reciprocal ranks with these counts and this
    mean, those vary most that lie at the ends of their ranges.

    Returns
    -------
    DataFrame indexed by model; columns mrr and error
    """
    table = published.cells("n2o_table4", ["model", "measure"]).unstack()
    least, most = TOP_5
    in_five = table["top 5"] - table["top 1"]
    left = PAIRS * table["mrr"] - table["top 1"]  # the sum below the top
    of_five = np.minimum(left, most * in_five)
    # Between the ends of a range, a square lies below the line that joins theirs.
    squares = table["top 1"] + (least + most) * of_five - least * most * in_five
    squares += BEYOND * (left - of_five)
    variance = squares / PAIRS - table["mrr"] ** 2
    error = np.sqrt(variance / (PAIRS - 1))
    return pd.DataFrame({"mrr": table["mrr"], "error": error})


def rank_leads(pairs: Sequence[tuple[str, str]]) -> Interval:
    """By how much the first of each pair of models leads by MRR (`family`)."""
    table = ranks()
    ahead, behind = (table.loc[list(side)] for side in zip(*pairs, strict=True))
    leads = ahead["mrr"].to_numpy() - behind["mrr"].to_numpy()
    return family(leads, np.hypot(ahead["error"].to_numpy(), behind["error"]))


def rank_leads_over_mean(models: Sequence[str]) -> Interval:
    """By how much each model leads the mean MRR of the others (`family`).

    The others have the same queries: the error of their mean is that of one of them.
    """
    table = ranks()
    rest = table.drop(list(models))
    chosen = table.loc[list(models)]
    leads = chosen["mrr"] - rest["mrr"].mean()
    return family(leads, np.hypot(chosen["error"], rest["error"].mean()))


def rank_spread(seed: int) -> Interval:
    """The standard deviation of MRR between models, without that of the queries.

    With an interval of 1.96 standard deviations of a parametric bootstrap.
    """
    table = ranks()
    values, errors = table["mrr"].to_numpy(), table["error"].to_numpy()
    noise = (errors**2).mean()

    def without(draws: np.ndarray, times: int) -> np.ndarray:
        """The spread where the noise counts as often as it was added."""
        variance = draws.var(axis=-1, ddof=1) - times * noise
        return np.sqrt(np.maximum(variance, 0))

    rng = np.random.default_rng(seed)
    drawn = values + errors * rng.normal(size=(DRAWS, len(values)))
    return single(without(values, 1), without(drawn, 2).std(ddof=1))
