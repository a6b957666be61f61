"""Replication report: the verdicts on the papers' claims, for a terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bench.leaderboards.claim.claim_files import Claim
from bench.leaderboards.claim.counts import check_states, check_summary, counted, share_stopped, summary
from bench.leaderboards.claim.lines import (
    check_line,
    effect_text,
    evidence_lines,
    paper_line,
    published_text,
    sweep_lines,
    verdict_line,
)
from bench.leaderboards.claim.verdicts import KINDS, Paper
from bench.leaderboards.render.markdown_table import markdown_table
from bench.leaderboards.render.text.aligned import aligned

__all__ = ["claim_cells", "markdown", "terminal"]

EXPLAINED = (
    "A claim is the paper's own sentence or cell; an effect is positive in its direction. Intervals are over seeds, by "
    "a moderated t over all contrasts of the column, at the level of one of six looks; p is adjusted over the looks, "
    "and by Holm over the paper's claims. Outside the paper's scale only directions and mechanisms are judged."
)


# Terminal ---------------------------------------------------------------------------------------------------------


def terminal(papers: Sequence[Paper]) -> str:
    """Return the report as plain text."""
    return "\n\n".join([EXPLAINED, *map(_terminal_paper, papers), _terminal_counts(papers)])


def _terminal_paper(paper: Paper) -> str:
    lines = [f"{paper.file.name}: {summary(paper)}", *(f"  on {on}" for on in _boards(paper))]
    if paper.file.rebuttal:
        lines.append(f"  rebuttal: {paper.file.rebuttal}")
    for verdict in paper.verdicts:
        lines.append(f"  {verdict_line(verdict)}: {verdict.claim.says} ({verdict.claim.paper})")
        lines.append(f"      paper: {paper_line(verdict.claim)}")
        lines += [f"      {line}" for line in evidence_lines(verdict)]
    for untested in paper.file.untested:
        lines.append(f"  not for a small run: {untested.says} ({untested.paper}): {untested.why}")
    lines += [f"  {line}" for line in paper.costs]
    lines.append(f"  {check_summary(paper)}")
    for check in paper.checks:
        lines.append(f"      {check_line(check)}")
        lines += [f"          {line}" for line in sweep_lines(check)]
    return "\n".join(lines)


def _terminal_counts(papers: Sequence[Paper]) -> str:
    headings, *rows = counted(papers)
    return "\n".join([*aligned(headings, rows), "", _stopped(papers), *_not_run(papers)])


def _not_run(papers: Sequence[Paper]) -> list[str]:
    """Say what `not run` means and where its runs are listed, where a verdict has it."""
    of = [paper.file.short for paper in papers if any(verdict.kind == "not run" for verdict in paper.verdicts)]
    if not of:
        return []
    files = ", ".join(f"leaderboards/claims/{name}.toml" for name in of)
    return [f"not run: {KINDS['not run']}; the runs that make it are listed in {files}"]


# Markdown ---------------------------------------------------------------------------------------------------------


def markdown(papers: Sequence[Paper]) -> str:
    """Return the report as Markdown: the counts, then for each paper a table of verdicts and their evidence."""
    return "\n\n".join([EXPLAINED, _markdown_counts(papers), *map(_markdown_paper, papers)])


def _markdown_paper(paper: Paper) -> str:
    lines = [f"## {paper.file.name}", "", _escaped(summary(paper))]
    lines += [f"\n*On {_escaped(on)}*" for on in _boards(paper)]
    if paper.file.rebuttal:
        lines += ["", f"**Rebuttal.** {_escaped(paper.file.rebuttal)}"]
    rows = []
    for number, verdict in enumerate(paper.verdicts, start=1):
        facts = [published_text(verdict.claim), effect_text(verdict), f"**{verdict_line(verdict)}**"]
        rows.append([str(number), *claim_cells(verdict.claim), *_row(fact or "–" for fact in facts)])
    lines += ["", *markdown_table(["", "claim", "where", "the paper", "here", "verdict"], rows)]
    lines += ["", "What the paper says and what is here, by number:", ""]
    for number, verdict in enumerate(paper.verdicts, start=1):
        lines.append(f"{number}. {_escaped(_words(verdict.claim))}")
        lines += [f"    - {_escaped(line)}" for line in evidence_lines(verdict)]
    if paper.file.untested:
        lines += ["", "Not for a small run:", ""]
    lines += [f"- {untested.says} ({untested.paper}): {untested.why}" for untested in paper.file.untested]
    if paper.costs:
        lines += ["", "What it costs to train, by the paper's hours and by our seconds:", ""]
    lines += [f"- {_escaped(line)}" for line in paper.costs]
    return "\n".join([*lines, *_markdown_checks(paper)])


def _markdown_checks(paper: Paper) -> Iterable[str]:
    if not paper.checks:
        return
    yield from ["", f"{_escaped(check_summary(paper))}.", ""]
    for check in paper.checks:
        yield f"- {_escaped(check_line(check))}"
        if sweep_lines(check):
            yield from ["", "  ``", *(f"  {line}" for line in sweep_lines(check)), "  ``"]


def _markdown_counts(papers: Sequence[Paper]) -> str:
    head, *rows = counted(papers)
    table = markdown_table(_row(head), map(_row, rows))
    lines = ["## Counts", "", *table, "", f"{_stopped(papers)}.", ""]
    lines += [f"- {kind}: {meaning}" for kind, meaning in KINDS.items()]
    return "\n".join(lines)


def _words(claim: Claim) -> str:
    """Return the paper's sentence, or where its number stands."""
    if claim.quote:
        return f'"{claim.quote}" ({claim.paper})'
    return f"a number, no sentence ({claim.paper})"


def claim_cells(claim: Claim) -> list[str]:
    """Return the cells of a claim's line behind its number: what it says and where, which no other claim has both."""
    return _row([claim.says, claim.paper])


def _row(cells: Iterable[str]) -> list[str]:
    return [_escaped(cell) for cell in cells]


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("_", "\\_")


# Both -------------------------------------------------------------------------------------------------------------


def _boards(paper: Paper) -> list[str]:
    """Return the leaderboards that the evidence is from, with what keeps them from being comparable."""
    return sorted({verdict.evidence.on for verdict in paper.verdicts if verdict.evidence.by_seed})


def _stopped(papers: Sequence[Paper]) -> str:
    verdicts = [verdict for paper in papers for verdict in paper.verdicts]
    checks = [check for paper in papers for check in paper.checks]
    states = ", ".join(f"{n} {state}" for state, n in check_states(checks).items())
    return f"{share_stopped(verdicts)}; {len(checks)} regression checks of ours are no claims and not counted: {states}"
