"""Claims of the page: by paper, each with the paper's number, ours and the verdict, and its evidence one click away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bench.leaderboards.claim.judge import WORDS
from bench.leaderboards.sections.markup import escaped, folded, section, wide_table

__all__ = ["claims_section"]

TITLE = "Claims by paper"
COLUMNS = ("Claim", "The paper", "Here", "Verdict")


def claims_section(papers: Sequence[Mapping[str, Any]]) -> str:
    """Return the section of claims, as `claim.report.content` has them; nothing where no row of a claim is stored."""
    if not any(part["values"] is not None for paper in papers for claim in paper["claims"] for part in claim["parts"]):
        return ""
    meanings = "".join(f"<dt>{escaped(word)}<dd>{escaped(meaning)}" for word, meaning in WORDS.items())
    parts = [*map(_paper, papers), folded("What the verdicts mean", f"<dl>{meanings}</dl>")]
    return section("claims", TITLE, parts)


def _paper(paper: Mapping[str, Any]) -> str:
    counts = ", ".join(f"{n} {word}" for word, n in paper["counts"].items() if n)
    head = "".join(f"<th scope=col>{name}" for name in COLUMNS)
    table = wide_table(f"Claims of {paper['paper']}", "claims", head, "".join(map(_claim, paper["claims"])))
    return f"<h3>{escaped(paper['paper'])}</h3>{_list(paper['abstract'])}<p class=soft>{escaped(counts)}</p>{table}"


def _claim(claim: Mapping[str, Any]) -> str:
    """Return a claim's row; its first cell opens on the quote and the evidence."""
    lines = [f'the paper, {claim["where"]}: "{claim["quote"]}"', *claim["evidence"]]
    first = folded(escaped(claim["claim"]), _list(lines))
    cells = [escaped(claim["paper"]) or "–", escaped(claim["here"]) or "–", escaped(claim["verdict_text"])]
    return f"<tr><th scope=row>{first}<td>{'<td>'.join(cells)}"


def _list(lines: Sequence[str]) -> str:
    return f"<ul class=soft>{''.join(f'<li>{escaped(line)}' for line in lines)}</ul>"
