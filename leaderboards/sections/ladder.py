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
    "change where parameters are ten times as many; –: not known within these sizes.</p>"
)

NOTHING = (
    "None of its {n} differences has an established direction on a rung, or changes with size in a known way; the "
    "ladder's own page has them."
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
    parts = [f"<h3>{escaped(task_title(ladder['task']))}</h3>"]
    parts.append(f"<p class=soft>Parameters without embeddings: {escaped(sizes)}</p>")
    if ladder["said"]:
        parts.append(f"<ul>{''.join(f'<li>{escaped(line)}' for line in ladder['said'])}</ul>")
    if plain and not any(map(_says_something, plain)):
        parts.append(f"<p class=soft>{NOTHING.format(n=len(plain))}</p>")
    else:
        parts += _by_metric(ladder, plain)
    if claimed:
        said = [(f"{card['says']} ({card['where']}; {card['metric']})", card) for card in claimed]
        parts.append(folded(f"{len(claimed)} claims of papers", _table("Claims as models grow", ladder, said, "Claim")))
    return "".join(parts)


def _says_something(card: Mapping[str, Any]) -> bool:
    """Return whether a difference has a direction on some rung, or changes with size in a known way."""
    return card["known"] or any(effect.startswith("**") for effect in card["rungs"])


def _by_metric(ladder: Mapping[str, Any], cards: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the tables of cards: that of the primary metric, and a folded one of the others."""
    parts = []
    primary = [card for card in cards if card["metric"] == ladder["primary"]]
    if primary:
        table = _table(f"{ladder['primary']} as models grow", ladder, _by_method(ladder, primary), "Method")
        parts.append(f"<p><b>{escaped(_directed(primary[0]))}</b></p>{table}")
    others = [card for card in cards if card["metric"] != ladder["primary"]]
    if others:
        known = sum(card["known"] for card in others)
        title = f"Other metrics: {known} of {len(others)} differences change with size in a known way"
        parts.append(folded(title, _words(ladder, others)))
    return parts


def _directed(card: Mapping[str, Any]) -> str:
    """Return the metric of a card with an arrow to where it is better."""
    if card["higher_is_better"]:
        return f"{card['metric']} ↑"
    return f"{card['metric']} ↓"


def _words(ladder: Mapping[str, Any], cards: Sequence[Mapping[str, Any]]) -> str:
    """Return what becomes of every difference in a word, a row a method and a column a metric."""
    metrics = list(dict.fromkeys(map(_directed, cards)))
    words: dict[str, dict[str, str]] = {}
    for subject, card in _by_method(ladder, cards):
        words.setdefault(subject, {})[_directed(card)] = card["word"] if card["known"] else "–"
    head = "".join(f"<th scope=col>{escaped(name)}" for name in ("Method", *metrics))
    lines = []
    for subject, found in words.items():
        cells = "".join(f"<td>{escaped(found.get(metric, ''))}" for metric in metrics)
        lines.append(f"<tr><th scope=row>{escaped(subject)}{cells}")
    return wide_table("Other metrics as models grow", "heat", head, "".join(lines))


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
