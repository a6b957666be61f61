"""mle.cache: a continuous cache on a model that maximum likelihood has trained. What TRIME trains, untrained.

    P(w) = (1 - lam) p(w) + lam q(w),    q(w) ~ sum over entries i of the memory that hold w of exp(theta h . h_i)

Grave et al. 2017, their eq. 3 and 4 with the linear interpolation of section 3. Their cache crosses the rows of a text;
here it is the memory of one row, as TRIME's and HistAlign's are, so that what is compared is the training alone. With
theta = 1 / sqrt(D) and one softmax in place of the interpolation it is eq. 3 of HistAlign.

Shapes: n positions of a slice, M memory entries, D width of a state.
"""

from __future__ import annotations

from typing import ClassVar

from bench.models.core.states import TokenSlice
from bench.models.interpolated import Entries, Interpolated


class MLECache(Interpolated):
    """The continuous cache over a row's own memory: control of TRIME and HistAlign.

    Source: Grave et al. 2017, section 3. `sharpnesses` are theta times sqrt(D).
    """

    name: ClassVar[str] = "mle.cache"
    paper: ClassVar[str] = "Grave et al. 2017"
    equations: ClassVar[tuple[str, ...]] = (
        r"P(w) = (1 - \lambda)\, p(w) + \lambda\, q(w)",
        r"q(w) \propto \sum_{i:\, m_i = w} e^{\theta\, h^\top h_i}",
    )
    version: ClassVar[int] = 2
    sharpnesses: ClassVar[tuple[float, ...]] = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)

    def entries(self, tokens: TokenSlice) -> Entries:
        """Scaled products with the states of the memory, its tokens, and which of them may be read, [n, M] each."""
        return tokens.similarity(), tokens.memory_tokens, tokens.readable
