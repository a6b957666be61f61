"""Departure: a setting in which a run deviates from its paper, or from the code of the paper's authors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["Departure"]


@dataclass(frozen=True)
class Departure:
    """One setting that deviates from the paper, from the released code, or from both.

    Args:
        setting: its name, `section.name`.
        ours: its value here, in words where `tasks/papers` has some.
        paper: what the paper states; empty where it says nothing.
        code: what the released code does; empty where that is not known.
        where: place of the paper's statement.
        how: how to get the stated value; empty where that is impossible, or one option.
    """

    setting: str
    ours: str
    paper: str = ""
    code: str = ""
    where: str = ""
    how: str = ""

    @property
    def section(self) -> str:
        """What its name begins with: `trainer`, `method`, ..."""
        return self.setting.partition(".")[0]

    @property
    def is_of_paper(self) -> bool:
        """Whether the paper states another value, and not its code alone."""
        return self.paper not in ("", self.ours)

    @property
    def text(self) -> str:
        """As a sentence.

        >>> Departure("method.reduction", "pair_mean", "sum", "authors", "eq. 5").text
        'method.reduction: ours pair_mean; paper: sum (eq. 5); code: authors'
        >>> Departure("trainer.schedule", "linear", "linear", "constant", "A").text
        'trainer.schedule: ours linear; paper: the same (A); code: constant'
        >>> Departure("trainer.precision", "32-true", code="16-mixed").text
        'trainer.precision: ours 32-true; paper: not stated; code: 16-mixed'
        """
        paper = self._stated(self.paper) or "not stated"
        if self.where:
            paper += f" ({self.where})"
        parts = [f"{self.setting}: ours {self.ours}", f"paper: {paper}"]
        if self.code:
            parts.append(f"code: {self._stated(self.code)}")
        return ". ".join(filter(None, ["; ".join(parts), self.how]))

    def _stated(self, value: str) -> str:
        """Return a stated value for `text`, which has ours in front of it."""
        return "the same" if value == self.ours else value

    def as_dict(self) -> Mapping[str, Any]:
        """Return it as plain content, without what is empty."""
        return {name: value for name, value in asdict(self).items() if value}
