"""MLE: maximum likelihood, the baseline every other objective is compared with."""

from __future__ import annotations

from typing import ClassVar

from bench.models.objective import Objective


class MLE(Objective):
    """Cross-entropy on the next token, l_xe of HistAlign section 3.1. Nothing to override: the base is MLE."""

    name: ClassVar[str] = "mle"
    paper: ClassVar[str] = "maximum likelihood"
