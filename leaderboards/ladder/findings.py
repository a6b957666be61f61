"""Findings: what follows from a ladder's scores, each made once for the report, the picture and the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from bench.leaderboards.ladder.decisions import Decisions, decisions_of
from bench.leaderboards.ladder.pairs import PairEffects, pair_effects
from bench.leaderboards.ladder.scores import Ladder
from bench.leaderboards.ladder.transfer import Question, TransferCard, method_questions, transfer_cards

__all__ = ["Findings"]


@dataclass(frozen=True)
class Findings:
    """A ladder and what follows from it.

    Args:
        ladder: its scores.
        claims: of papers; those of metrics that it does not have are left out.
    """

    ladder: Ladder
    claims: Sequence[Question] = ()

    @cached_property
    def effects(self) -> PairEffects:
        """The effects of all pairs of methods."""
        return pair_effects(self.ladder)

    @cached_property
    def decisions(self) -> list[Decisions]:
        """What each metric on a rung says of itself on a larger one."""
        return decisions_of(self.ladder, self.effects)

    @cached_property
    def cards(self) -> list[TransferCard]:
        """A card for each method and metric, then for each claim; all at once, since the error rate is over them."""
        asked = [claim for claim in self.claims if claim.metric in self.ladder.metrics]
        return transfer_cards(self.ladder, self.effects, [*method_questions(self.ladder), *asked])

    @property
    def method_cards(self) -> list[TransferCard]:
        """The cards of methods."""
        return [card for card in self.cards if not card.question.claim]

    @property
    def claim_cards(self) -> list[TransferCard]:
        """The cards of claims."""
        return [card for card in self.cards if card.question.claim]
