"""Claims of the page: by paper, each with direction, size and control, and its evidence one click away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from bench.leaderboards.claim.verdicts import KINDS
from bench.leaderboards.sections.markup import escaped, folded, section, wide_table

__all__ = ["claims_section"]

TITLE = "Claims by paper"
SIGNS = {"established": "▲ as claimed", "reversed": "▼ the other way", "open": "open", "": "–"}
"""What is said of a direction: a sign and words, so that nothing rests on colour."""
SHARED_BY = 2
"""Claims that make a line of their evidence a note."""


def claims_section(papers: Sequence[Mapping[str, Any]]) -> str:
    """Return the section of claims, as `claim.page_content` has them; nothing where no claim was put to the test."""
    run = [paper for paper in papers if paper["claims"]]
    if not run:
        return ""
    missing = [f"{paper['paper']} ({len(paper['not_run'])} claims)" for paper in papers if not paper["claims"]]
    parts = [
        "<p class=soft>A claim is the paper's own sentence or cell. Its verdict rests on direction, size and controls; "
        "open it for what the paper prints and what our runs say.</p>",
        *map(_paper, run),
    ]
    if missing:
        parts.append(f"<p class=soft>Of these papers no claim has been run: {escaped(', '.join(missing))}.</p>")
    meanings = "".join(f"<dt>{escaped(kind)}<dd>{escaped(said)}" for kind, said in KINDS.items())
    parts.append(folded("What the verdicts mean", f"<dl>{meanings}</dl>"))
    return section("claims", TITLE, parts)


def _paper(paper: Mapping[str, Any]) -> str:
    sized = any(claim["size"] for claim in paper["claims"])  # outside a paper's scale no size is judged
    columns = ("Claim", "Verdict", "Direction", "Control", *(["Size"] if sized else []))
    head = "".join(f"<th scope=col>{name}" for name in columns)
    notes = _notes(paper["claims"])
    lines = [_claim(claim, sized, notes) for claim in paper["claims"]]
    parts = [f"<h3>{escaped(paper['paper'])}</h3><p class=soft>{escaped(paper['summary'])}</p>"]
    parts.append(wide_table(f"Claims of {paper['paper']}", "claims", head, "".join(lines)))
    if notes:
        items = "".join(f"<li>{escaped(note)}" for note in notes)
        parts.append(folded(f"Notes of {paper['paper']}'s claims", f"<ol>{items}</ol>"))
    if paper["rebuttal"]:
        parts.append(f"<p><b>Rebuttal.</b> {escaped(paper['rebuttal'])}</p>")
    if paper["not_run"]:
        parts.append(folded(f"{len(paper['not_run'])} claims that were not run", _list(paper["not_run"])))
    if paper["costs"]:
        parts.append(folded("Training time, the paper's and ours", _list(paper["costs"])))
    return "".join(parts)


def _notes(claims: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what several claims share, such as the rows they are judged on or words of the paper: said once."""
    counts = Counter(line for claim in claims for line in _evidence(claim))
    return [line for line, n in counts.items() if n >= SHARED_BY]


def _evidence(claim: Mapping[str, Any]) -> list[str]:
    quoted = []
    if claim["quote"]:
        quoted.append(f'the paper: "{claim["quote"]}"')
    return [*quoted, *claim["evidence"], f"on {claim['on']}"]


def _claim(claim: Mapping[str, Any], sized: bool, notes: Sequence[str]) -> str:
    """Return a claim's row.

    Args:
        claim: its texts.
        sized: whether the table has a column of sizes.
        notes: of all claims of the paper.
    """
    lines = [": ".join(filter(None, [f"the paper, {claim['where']}", claim["paper"]]))]
    lines += [line for line in _evidence(claim) if line not in notes]
    numbers = [str(notes.index(line) + 1) for line in _evidence(claim) if line in notes]
    if numbers:
        lines.append(f"notes {', '.join(numbers)} below")
    cells = [
        f"<b>{escaped(claim['verdict'])}</b>",
        SIGNS.get(claim["direction"], escaped(claim["direction"])),
        *(escaped(claim[key]) or "–" for key in ("control", *(["size"] if sized else []))),
    ]
    return f"<tr><th scope=row>{folded(escaped(claim['says']), _list(lines))}<td>{'<td>'.join(cells)}"


def _list(lines: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{escaped(line)}' for line in lines)}</ul>"
