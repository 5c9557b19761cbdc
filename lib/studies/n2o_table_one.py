"""Study 1: the claims that need the weights of all embedders of the paper's Table 1."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from lib.catalog import published

if TYPE_CHECKING:
    from lib.studies.n2o import Evidence

ELMO = ("elmo-small", "elmo-orig", "elmo-orig-5.5b")
TOKENS = {"bert-base-cls": "bert-base-avg", "bert-ft-cls": "bert-ft-avg", "gpt-last": "gpt-avg"}  # and averages
USE = ("use-dan", "use-trf")


def judge(evidence: Evidence) -> None:
    """Enter into the ledger what the neighbors say of each of these claims."""
    for judged in (_elmo, _outliers, _gains_with_elmo, _infersent, _use):
        judged(evidence)


def _outside(evidence: Evidence) -> list[str]:
    """The paper's embedders but BERT and GPT."""
    names = published.load("n2o_table1")["embedder"]
    return [name for name in names if name not in {*TOKENS, *TOKENS.values()}]


def _elmo(evidence: Evidence) -> None:
    small, middle, large = ELMO
    related = [evidence.pair(small, middle), evidence.pair(middle, large)]
    values = [pair - evidence.pair(small, large) for pair in related]
    evidence.judge("n2o-elmo-capacity-and-data", "", values, holm=True)


def _outliers(evidence: Evidence) -> None:
    others = _outside(evidence)
    typical = {name: evidence.mean((name, other) for other in others if other != name) for name in (*TOKENS, *others)}
    values = [typical[token] - typical[other] for token in TOKENS for other in others]
    evidence.judge("n2o-specific-token-outliers", "", values, holm=True)


def _gains_with_elmo(evidence: Evidence) -> None:
    others = [name for name in _outside(evidence) if name not in ELMO]
    means, each = [], []
    for token, average in TOKENS.items():
        gains = {name: evidence.pair(average, name) - evidence.pair(token, name) for name in (*ELMO, *others)}
        with_elmo = np.mean([gains[name] for name in ELMO], axis=0)
        means.append(with_elmo - np.mean([gains[name] for name in others], axis=0))
        each += [with_elmo - gains[name] for name in others]
    evidence.judge("n2o-averaging-nears-elmo", "mean", means)
    evidence.judge("n2o-averaging-nears-elmo", "maximum", each, holm=True)


def _infersent(evidence: Evidence) -> None:
    static = [name for name in _outside(evidence) if name in evidence.averages()]
    values = []
    for averages in (static, [*static, *ELMO, *TOKENS.values()]):
        near = evidence.mean(("infersent-v1", name) for name in averages)
        others = [name for name in (*_outside(evidence), *TOKENS) if name not in (*averages, "infersent-v1")]
        values += [near - evidence.pair("infersent-v1", name) for name in others]
    evidence.judge("n2o-infersent-near-averages", "averages", values)
    start = evidence.pair("infersent-v1", "glove-840b-300d")
    others = [name for name in static if name != "glove-840b-300d"]
    evidence.judge(
        "n2o-infersent-near-averages", "initialization", [start - evidence.pair("infersent-v1", o) for o in others]
    )


def _use(evidence: Evidence) -> None:
    others = [name for name in (*_outside(evidence), *TOKENS, *TOKENS.values()) if name not in USE]
    values = [evidence.pair(*USE) - evidence.pair(one, name) for one in USE for name in others]
    evidence.judge("n2o-use-distinct", "each other", values)
    both = evidence.mean(product(USE, others))
    rivals = [evidence.mean((name, other) for other in others if other != name) for name in others]
    evidence.judge_median("n2o-use-distinct", "distinct", [[both, *rivals]])
