"""Agreement of predicted similarities with gold scores, its interval, and whether two embedders differ in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lib import stats
from lib.run import arrays
from lib.run.errors import InputError
from lib.run.parameters import in_range, one_of

LEAST_PAIRS = 3
SAME = 1e-12  # relative; what differs by less differs by rounding only


def correlations(predicted: np.ndarray, gold: np.ndarray) -> dict[str, float]:
    """Pearson's and Spearman's correlation of predicted similarities with gold scores, both in [-1, 1].

    Raises InputError for fewer than three pairs, lengths that differ, NaN, and a side that is constant.
    """
    from scipy.stats import pearsonr, spearmanr

    predicted, gold = _checked(predicted, gold)
    return {
        "pearson": float(pearsonr(predicted, gold).statistic),
        "spearman": float(spearmanr(predicted, gold).statistic),
    }


def mean_squared_error(predicted: np.ndarray, gold: np.ndarray) -> float:
    """The mean of (predicted - gold) squared, on the scale of the gold scores: 0 is best."""
    predicted, gold = _checked(predicted, gold, may_be_constant=True)
    return float(np.mean((predicted - gold) ** 2))


def interval(
    predicted: np.ndarray,
    gold: np.ndarray,
    rng: np.random.Generator,
    measure: str = "pearson",
    groups: np.ndarray | None = None,
    repetitions: int = 1000,
    confidence: float = 0.95,
) -> tuple[float, float]:
    """Percentile bootstrap interval over pairs.

    Parameters
    ----------
    predicted, gold : float[n]
    measure : "pearson", "spearman" or "mse"
    groups : int[n], pairs that are drawn together since they share a sentence, say; a negative number stands alone
    repetitions, confidence : as for `lib.stats.bootstrap_mean`

    Returns
    -------
    low, high : float

    Raises InputError as `correlations` does.
    """
    one_of("measure", measure, ("pearson", "spearman", "mse"))
    predicted, gold = _checked(predicted, gold, may_be_constant=measure == "mse")
    if measure == "mse":
        errors = (predicted - gold)[:, None] ** 2
        low, high = stats.bootstrap_mean(errors, rng, groups, repetitions=repetitions, confidence=confidence)
        return float(low[0]), float(high[0])
    bootstrap = stats.bootstrap_pearson if measure == "pearson" else stats.bootstrap_spearman
    _, low, high = bootstrap(predicted, gold, rng, groups, repetitions, confidence)
    return low, high


@dataclass(frozen=True)
class Difference:
    """Of two correlations with the same gold scores, over the same pairs.

    Attributes
    ----------
    difference : float, the first less the second
    low, high : float, Zou's interval of it
    z, p : Steiger's test that it is 0, two-sided (Dunn and Clark's z with a pooled correlation)
    t, p_williams : Williams's test of the same, with n - 3 degrees of freedom
    """

    difference: float
    low: float
    high: float
    z: float
    p: float
    t: float
    p_williams: float


def difference(
    first: np.ndarray, second: np.ndarray, gold: np.ndarray, measure: str = "pearson", confidence: float = 0.95
) -> Difference:
    """Whether two embedders' similarities agree with the gold scores differently: `difference_of_correlations`.

    Parameters
    ----------
    first, second : float[n], what each predicts of the same pairs
    gold : float[n]
    measure : "pearson", or "spearman", for which the tests are an approximation
    """
    one_of("measure", measure, ("pearson", "spearman"))
    pairs = ((first, gold), (second, gold), (first, second))
    a, b, both = (correlations(x, y)[measure] for x, y in pairs)
    return difference_of_correlations(a, b, both, len(gold), confidence)


def difference_of_correlations(a: float, b: float, both: float, n: int, confidence: float = 0.95) -> Difference:
    """Test and interval for the difference of two correlations that share a variable.

    Parameters
    ----------
    a, b : correlations of x and of y with the shared variable
    both : correlation of x and y
    n : observations, four or more

    Returns
    -------
    Difference; if x and y are one up to a linear map, the difference is 0 and both p are 1

    Raises
    ------
    InputError
        Too few observations, a correlation of 1 or -1 with the shared variable, or three that no data can have.

    Notes
    -----
    Steiger (1980), "Tests for comparing elements of a correlation matrix", page 247, equations 10 and 14, and equation
    7 for Williams's T2; Zou (2007), "Toward using confidence intervals to compare correlations", pages 406 and 409.
    All assume that the three variables are jointly normal.
    """
    from scipy.stats import norm, t

    in_range("n", n, 4, 10**12, "observations")
    in_range("confidence", confidence, 0.01, 0.9999)
    determinant = 1 - a**2 - b**2 - both**2 + 2 * a * b * both
    if not (abs(a) < 1 and abs(b) < 1 and abs(both) <= 1 and determinant >= -SAME):
        raise InputError(
            f"correlations: {a:.3g}, {b:.3g} and {both:.3g} cannot be compared; "
            "give a and b between -1 and 1, and three of the same data"
        )
    if 1 - both < SAME:
        return Difference(0.0, 0.0, 0.0, z=0.0, p=1.0, t=0.0, p_williams=1.0)
    z = _steiger(a, b, both, n)
    williams = _williams(a, b, both, n, max(determinant, 0.0))
    low, high = _zou(a, b, both, n, confidence)
    p, p_williams = 2 * norm.sf(abs(z)), 2 * t.sf(abs(williams), n - 3)
    return Difference(float(a - b), low, high, float(z), float(p), float(williams), float(p_williams))


def _steiger(a: float, b: float, both: float, n: int) -> float:
    pooled = ((a + b) / 2) ** 2
    covariance = both * (1 - 2 * pooled) - pooled / 2 * (1 - 2 * pooled - both**2)
    return (np.arctanh(a) - np.arctanh(b)) * np.sqrt((n - 3) / (2 - 2 * covariance / (1 - pooled) ** 2))


def _williams(a: float, b: float, both: float, n: int, determinant: float) -> float:
    spread = 2 * (n - 1) / (n - 3) * determinant + ((a + b) / 2) ** 2 * (1 - both) ** 3
    return (a - b) * np.sqrt((n - 1) * (1 + both) / spread)


def _zou(a: float, b: float, both: float, n: int, confidence: float) -> tuple[float, float]:
    """Each bound is as far from the difference as the two correlations' own Fisher bounds, and how they vary, say."""
    from scipy.stats import norm

    half = norm.isf((1 - confidence) / 2) / np.sqrt(n - 3)
    (low_a, high_a), (low_b, high_b) = (np.tanh(np.arctanh(r) + np.array([-half, half])) for r in (a, b))
    along = (both - a * b / 2) * (1 - a**2 - b**2 - both**2) + both**3
    shared = along / ((1 - a**2) * (1 - b**2))

    def reach(x: float, y: float) -> float:
        return np.sqrt(max(x**2 + y**2 - 2 * shared * x * y, 0.0))

    return float(a - b - reach(a - low_a, high_b - b)), float(a - b + reach(high_a - a, b - low_b))


def _checked(predicted: np.ndarray, gold: np.ndarray, may_be_constant: bool = False) -> tuple[np.ndarray, np.ndarray]:
    predicted, gold = arrays.column("similarity", predicted), arrays.column("gold", gold)
    if predicted.shape != gold.shape:
        raise InputError(f"gold: shape {gold.shape} for similarities of {predicted.shape}; give one score a pair")
    if len(gold) < LEAST_PAIRS:
        raise InputError(f"gold: {len(gold)} pairs; give {LEAST_PAIRS} or more")
    for name, values in (("gold", gold), ("similarity", predicted)):
        if not may_be_constant and np.ptp(values) <= SAME * np.abs(values).max():
            raise InputError(f"{name}: the same for all {len(values)} pairs; a correlation needs two that differ")
    return predicted, gold
