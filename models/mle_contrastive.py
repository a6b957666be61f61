"""mle.contrastive: contrastive search on what maximum likelihood has trained.

Su et al. 2022 decode SimCTG with it, so it is what a training must be better than. Whatever a run decodes with, this
does: its rows say `contrastive_search`.
"""

from __future__ import annotations

from typing import ClassVar

from bench.models.core.objective import Objective


class MLEContrastive(Objective):
    """The weights of `mle`, decoded by contrastive search with k = 5 and alpha = 0.6; nothing is chosen."""

    name: ClassVar[str] = "mle.contrastive"
    paper: ClassVar[str] = "Su et al. 2022"
    version: ClassVar[int] = 1
    parent: ClassVar[str] = "mle"
    training_free: ClassVar[bool] = True
    own_decoding: ClassVar[str] = "contrastive_search=5+alpha=0.6"
