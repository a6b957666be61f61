"""Shares of true verdicts as torchmetrics classes: FactCC, TAPEX-Acc, TAPAS-Acc, NLI-Acc, SP-Acc, DAE.

The states are two integers, `true` and `n`, so that batches and ranks add up exactly: the result is the share of the
verdicts of all pairs together. In another batch a verdict is another only where a model's two logits are equal but for
rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric

from bench.metrics.faithfulness import dae_arcs
from bench.metrics.faithfulness.dae import MAX_ARCS, dae
from bench.metrics.faithfulness.factcc import Unit, factcc
from bench.metrics.faithfulness.nli_acc import Linked, nli
from bench.metrics.faithfulness.sp_acc import Parsed, sp_acc
from bench.metrics.faithfulness.table_cells import TableText
from bench.metrics.faithfulness.tapas import tapas
from bench.metrics.faithfulness.tapex import tapex
from bench.metrics.faithfulness.verifiers import Verifier

__all__ = ["DAE", "FactCC", "NLIAcc", "SPAcc", "TapasAcc", "TapexAcc", "add_states", "percent_true"]


def add_states(metric: Metric) -> None:
    """Give a metric its two integers: `true`, how many verdicts are, and `n`, how many there are."""
    for state in ("true", "n"):
        metric.add_state(state, torch.zeros((), dtype=torch.int64), dist_reduce_fx="sum")


def percent_true(true: Tensor, n: Tensor) -> Tensor:
    """Return the percentage of true verdicts, a scalar in float64; not a number of none.

    >>> percent_true(torch.tensor(2), torch.tensor(3)).item()
    66.66666666666667
    """
    return 100.0 * true.double() / n


class FactCC(Metric):
    """Share of claims that FactCC finds consistent with their document (Kryscinski et al. 2020).

    A verdict is of one claim; the result equals the column `factcc` of the same pairs to the last bit.
    """

    full_state_update = False
    is_differentiable = False
    higher_is_better = True

    true: Tensor
    n: Tensor

    def __init__(self, verifier: Verifier, unit: Unit = "sentence", **kwargs: Any) -> None:
        """Start from nothing.

        Args:
            verifier: as `bench.metrics.faithfulness.factcc.load_factcc` returns.
            unit: what a claim is: a sentence of a summary, or a whole summary.
            **kwargs: passed on to `torchmetrics.Metric`.
        """
        super().__init__(**kwargs)
        self.verifier, self.unit = verifier, unit
        add_states(self)

    def update(self, documents: Sequence[str], summaries: Sequence[str]) -> None:
        """Add `[n]` documents and `[n]` summaries of them, possibly none."""
        verdicts = [one for some in factcc(documents, summaries, self.verifier, self.unit) for one in some]
        self.true += sum(verdicts)
        self.n += len(verdicts)

    def compute(self) -> Tensor:
        """Return a percentage, a scalar in float64; not a number before the first claim."""
        return percent_true(self.true, self.n)


class TapexAcc(Metric):
    """Share of sentences that TAPEX finds entailed by their table (Liu et al. 2022).

    A verdict is of one sentence; the result equals the column `tapex-acc` of the same pairs to the last bit.
    """

    full_state_update = False
    is_differentiable = False
    higher_is_better = True

    true: Tensor
    n: Tensor

    def __init__(self, verifier: Verifier, **kwargs: Any) -> None:
        """Start from nothing.

        Args:
            verifier: as `bench.metrics.faithfulness.tapex.load_tapex` returns.
            **kwargs: passed on to `torchmetrics.Metric`.
        """
        super().__init__(**kwargs)
        self.verifier = verifier
        add_states(self)

    def update(self, tables: Sequence[TableText], sentences: Sequence[str]) -> None:
        """Add `[n]` tables, as `table_cells.table_texts` returns, and `[n]` sentences about them, possibly none."""
        verdicts = tapex(tables, sentences, self.verifier)
        self.true += sum(verdicts)
        self.n += len(verdicts)

    def compute(self) -> Tensor:
        """Return a percentage, a scalar in float64; not a number before the first sentence."""
        return percent_true(self.true, self.n)


class TapasAcc(Metric):
    """Share of sentences that TAPAS finds entailed by their table (Eisenschlos et al. 2020).

    A verdict is of one sentence; the result equals the column `tapas-acc` of the same pairs to the last bit.
    """

    full_state_update = False
    is_differentiable = False
    higher_is_better = True

    true: Tensor
    n: Tensor

    def __init__(self, verifier: Verifier, **kwargs: Any) -> None:
        """Start from nothing.

        Args:
            verifier: as `bench.metrics.faithfulness.tapas.load_tapas` returns.
            **kwargs: passed on to `torchmetrics.Metric`.
        """
        super().__init__(**kwargs)
        self.verifier = verifier
        add_states(self)

    def update(self, tables: Sequence[TableText], sentences: Sequence[str]) -> None:
        """Add `[n]` tables, as `table_cells.table_texts` returns, and `[n]` sentences about them, possibly none."""
        verdicts = tapas(tables, sentences, self.verifier)
        self.true += sum(verdicts)
        self.n += len(verdicts)

    def compute(self) -> Tensor:
        """Return a percentage, a scalar in float64; not a number before the first sentence."""
        return percent_true(self.true, self.n)


class NLIAcc(Metric):
    """Share of sentences that LogicNLG's verifier finds entailed by their table (Chen et al. 2020).

    A verdict is of one sentence; the result equals the column `nli-acc` of the same pairs to the last bit.
    """

    full_state_update = False
    is_differentiable = False
    higher_is_better = True

    true: Tensor
    n: Tensor

    def __init__(self, verifier: Verifier, **kwargs: Any) -> None:
        """Start from nothing.

        Args:
            verifier: as `bench.metrics.faithfulness.nli_acc.load_nli` returns.
            **kwargs: passed on to `torchmetrics.Metric`.
        """
        super().__init__(**kwargs)
        self.verifier = verifier
        add_states(self)

    def update(self, linked: Sequence[Linked], sentences: Sequence[str]) -> None:
        """Add `[n]` tables with their linked columns and `[n]` sentences about them, possibly none."""
        verdicts = nli(linked, sentences, self.verifier)
        self.true += sum(verdicts)
        self.n += len(verdicts)

    def compute(self) -> Tensor:
        """Return a percentage, a scalar in float64; not a number before the first sentence."""
        return percent_true(self.true, self.n)


class SPAcc(Metric):
    """Share of sentences whose best-ranked logical forms are true (Chen et al. 2020).

    A verdict is of one sentence; the result equals the column `sp-acc` of the same pairs to the last bit.
    """

    full_state_update = False
    is_differentiable = False
    higher_is_better = True

    true: Tensor
    n: Tensor

    def __init__(self, ranker: Verifier, **kwargs: Any) -> None:
        """Start from nothing.

        Args:
            ranker: as `bench.metrics.faithfulness.sp_acc.load_ranker` returns.
            **kwargs: passed on to `torchmetrics.Metric`.
        """
        super().__init__(**kwargs)
        self.ranker = ranker
        add_states(self)

    def update(self, parsed: Sequence[Parsed]) -> None:
        """Add `[n]` sentences with their programs, as `sp_acc.programs_of` returns, possibly none."""
        verdicts = sp_acc(parsed, self.ranker)
        self.true += sum(verdicts)
        self.n += len(verdicts)

    def compute(self) -> Tensor:
        """Return a percentage, a scalar in float64; not a number before the first sentence."""
        return percent_true(self.true, self.n)


class DAE(Metric):
    """Share of summaries with a dependency arc that their source does not entail (Goyal and Durrett 2021).

    A verdict is of one summary; the result equals the column `dae` of the same pairs to the last bit.
    """

    full_state_update = False
    is_differentiable = False
    higher_is_better = False

    true: Tensor
    n: Tensor

    def __init__(self, verifier: Verifier, max_arcs: int | None = MAX_ARCS, **kwargs: Any) -> None:
        """Start from nothing.

        Args:
            verifier: as `bench.metrics.faithfulness.dae.load_dae` returns.
            max_arcs: how many arcs of a summary are looked at; None is all.
            **kwargs: passed on to `torchmetrics.Metric`.
        """
        super().__init__(**kwargs)
        self.verifier, self.max_arcs = verifier, max_arcs
        add_states(self)

    def update(self, sources: Sequence[str], summaries: Sequence[dae_arcs.Parsed]) -> None:
        """Add `[n]` texts and `[n]` summaries of them, as `dae_arcs` reads or makes them, possibly none."""
        verdicts = [not all(arcs) for arcs in dae(sources, summaries, self.verifier, self.max_arcs)]
        self.true += sum(verdicts)
        self.n += len(verdicts)

    def compute(self) -> Tensor:
        """Return a percentage, a scalar in float64; not a number before the first summary."""
        return percent_true(self.true, self.n)
