"""Text: what a ladder runs, and how long it takes, for people."""

from __future__ import annotations

import shlex

from bench.ladder.asked import Asked
from bench.ladder.decision import Decision
from bench.ladder.rungs import PlannedRung
from bench.leaderboards.render.text.aligned import aligned
from bench.leaderboards.statistics.baseline import BASELINE

__all__ = ["decision_text"]

RUNG_COLUMNS = (
    "rung",
    "parameters",
    "width",
    "layers",
    "heads",
    "steps",
    "epochs",
    "tokens",
    "tokens/parameter",
    "rate x",
    "step s",
    "hours",
)


def decision_text(asked: Asked, decision: Decision) -> str:
    """Return what a ladder runs, and how long it takes, for people."""
    rows = [rung_line(asked, rung, decision) for rung in decision.rungs]
    hours = sum(decision.rung_hours(rung.size.name) for rung in decision.rungs) / asked.jobs
    lines = [*aligned(RUNG_COLUMNS, rows), ""]
    lines.append("parameters are without embeddings; epochs are passes over the training text")
    if any(rung.finetuned_steps for rung in decision.rungs):
        more = ", ".join(f"{rung.most_epochs:.2f}" for rung in decision.rungs)
        lines.append(f"epochs of a method that is fine-tuned, its parent's among them: {more}")
    lines.append(f"methods: {', '.join(decision.methods)}; seeds 0 to {asked.seeds - 1}; two learning rates each")
    for rung in decision.rungs:
        lines.append(f"rung {rung.size.name}: --set {shlex.join(rung.arguments(asked, decision.methods).sets)}")
    lines += [f"left out: {name} {reason}" for name, reason in decision.left_out.items()]
    lines.append(f"about {hours:.2f} hours with --jobs {asked.jobs}, each method taken to be as fast as {BASELINE}")
    return "\n".join(lines)


def rung_line(asked: Asked, rung: PlannedRung, decision: Decision) -> tuple[str, ...]:
    """Return the columns of one rung."""
    size, timing = rung.size, decision.timings[rung.size.name]
    tokens = rung.steps * timing.step_tokens
    return (
        size.name,
        f"{size.parameters:,}",
        str(size.width),
        str(size.layers),
        str(size.heads),
        str(rung.steps),
        f"{rung.epochs:.2f}",
        f"{tokens:,.0f}",
        f"{tokens / size.parameters:.3g}",
        ", ".join(f"{rung.scale * factor:.3g}" for factor in rung.search.factors),
        f"{timing.step_s:.3g}",
        f"{decision.rung_hours(size.name) / asked.jobs:.2f}",
    )
