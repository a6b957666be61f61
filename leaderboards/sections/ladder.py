"""Ladders of the page: what becomes of each difference as models grow, a table for each ladder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench.leaderboards.sections.markup import escaped, folded, section, wide_table
from bench.leaderboards.table import task_title

__all__ = ["ladder_section"]

SAID = (
    "<p class=soft>A difference is positive where the method is better than {baseline}, or than what its row names; "
    "with 95 % intervals over seeds, in bold where its direction is established over the whole ladder. Tenfold: its "
    "change where parameters are ten times as many.</p>"
)


def ladder_section(ladders: Sequence[Mapping[str, Any]]) -> str:
    """Return the section of ladders, as `ladder.page_content` has them; nothing without one."""
    if not ladders:
        return ""
    parts = [SAID.format(baseline=escaped(ladders[0]["baseline"])), *map(_ladder, ladders)]
    return section("ladder", "As models grow", parts)


def _ladder(ladder: Mapping[str, Any]) -> str:
    plain = [card for card in ladder["cards"] if not card["claim"]]
    claimed = [card for card in ladder["cards"] if card["claim"]]
    sizes = ", ".join(f"{rung['name']}: {rung['parameters']:,}" for rung in ladder["rungs"])
    by_metric: dict[str, list[Mapping[str, Any]]] = {}
    for card in plain:
        by_metric.setdefault(card["metric"], []).append(card)
    parts = [f"<h3>{escaped(task_title(ladder['task']))}</h3>"]
    parts.append(f"<p class=soft>Parameters without embeddings: {escaped(sizes)}</p>")
    for metric in sorted(by_metric, key=lambda metric: metric != ladder["primary"]):
        parts.append(_metric(ladder, metric, by_metric[metric]))
    if claimed:
        said = [(f"{card['says']} ({card['claim']}, {card['metric']})", card) for card in claimed]
        parts.append(folded(f"{len(claimed)} claims of papers", _table("Claims as models grow", ladder, said, "Claim")))
    return "".join(parts)


def _metric(ladder: Mapping[str, Any], metric: str, cards: Sequence[Mapping[str, Any]]) -> str:
    """Return the cards of a metric: all of the primary one, of others those of which something is known, folded."""
    way = "lower is better"
    if cards[0]["higher_is_better"]:
        way = "higher is better"
    if metric == ladder["primary"]:
        table = _table(f"{metric} as models grow", ladder, _by_method(ladder, cards), "Method")
        return f"<p><b>{escaped(metric)}</b> ({way})</p>{table}"
    known = [card for card in cards if card["known"]]
    title = f"{escaped(metric)} ({way}): {len(known)} of {len(cards)} differences change with size in a known way"
    if not known:
        return f"<p class=soft>{title}</p>"
    return folded(title, _table(f"{metric} as models grow", ladder, _by_method(ladder, known), "Method"))


def _by_method(ladder: Mapping[str, Any], cards: Sequence[Mapping[str, Any]]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return cards behind the methods they are of."""
    return [(_compared(card, ladder), card) for card in cards]


def _compared(card: Mapping[str, Any], ladder: Mapping[str, Any]) -> str:
    """Return whose difference a card is of."""
    if card["than"] == ladder["baseline"]:
        return str(card["method"])
    return f"{card['method']} against {card['than']}"


def _table(name: str, ladder: Mapping[str, Any], cards: Sequence[tuple[str, Mapping[str, Any]]], first: str) -> str:
    """Return a table of cards, each with its name, an effect for each rung, and what becomes of it.

    Args:
        name: of the table.
        ladder: of the cards.
        cards: each behind what it is of.
        first: head of the first column.
    """
    heads = "".join(f"<th scope=col class=num>{escaped(rung['name'])}" for rung in ladder["rungs"])
    lines = []
    for subject, card in cards:
        effects = "".join(f"<td class=num>{_bold(effect)}" for effect in card["rungs"])
        change = f"<td class=num>{escaped(card['tenfold'])}<td>{escaped(card['word'])}"
        lines.append(f"<tr><th scope=row>{escaped(subject)}{effects}{change}")
    head = f"<th scope=col>{first}{heads}<th scope=col class=num>Tenfold<th scope=col>With size"
    return wide_table(name, "heat", head, "".join(lines))


def _bold(text: str) -> str:
    """Return a text with its stars as bold.

    >>> _bold("**+1.5**"), _bold("+1.5")
    ('<b>+1.5</b>', '+1.5')
    """
    if text.startswith("**") and text.endswith("**"):
        return f"<b>{escaped(text[2:-2])}</b>"
    return escaped(text)
