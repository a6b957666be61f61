"""Verdicts: what the evidence on the claims of a paper decides, in one of five words.

All comparisons of a claim must hold (intersection-union test): its p is the largest of theirs. Where one points the
other way, the p of a reversal is the smallest of those, times the number of comparisons. Both are adjusted by Holm over
the claims of the paper that are tested.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bench.leaderboards.claim.claim_files import Claim, ClaimFile
from bench.leaderboards.claim.evidence import PartEvidence, gather
from bench.leaderboards.row import TableRow
from bench.leaderboards.statistics.constants import ALPHA, MIN_SEEDS
from bench.leaderboards.statistics.intervals import holm
from bench.leaderboards.table import Table, task_title, weights_of

WORDS: Mapping[str, str] = {
    "seen here": "every comparison has the claimed direction, with p at most 0.05 after Holm's correction, or with "
    "exactly the same difference in every seed",
    "reversed here": "a comparison has the opposite direction, or lies outside of a stated margin, with p at most 0.05 "
    "after Holm's correction",
    "open": "neither, with the seeds that were run",
    "not run": "runs that the claim needs were not made; nothing else prevents the test",
    "not testable here": "a method does not clearly beat the trivial controls, or data, models or methods are missing",
}


@dataclass(frozen=True)
class Scale:
    """The scale of the runs behind a verdict, for people.

    Args:
        models: their sizes and weights, and how long they were trained.
        text: the data that they were trained on.
        seeds: how many the comparisons have.
    """

    models: str
    text: str
    seeds: str

    @property
    def words(self) -> str:
        """The scale in one line."""
        return f"{self.models}, {self.text}, {self.seeds} seeds"


def number(size: int) -> str:
    """Return a number of parameters for people.

    >>> number(459136), number(1487497), number(124_000_000)
    ('459k', '1.49M', '124M')
    """
    return f"{size / 1000:.0f}k" if size < 10**6 else f"{size / 10**6:.3g}M"


def ranged(texts: Sequence[str]) -> str:
    """Return sorted texts as a range."""
    return texts[0] if texts[0] == texts[-1] else f"{texts[0]} to {texts[-1]}"


@dataclass(frozen=True)
class Verdict:
    """A claim and what its evidence decides.

    Args:
        claim, word: the claim and its verdict.
        why: what stops it, or which of several comparisons is reversed.
        p: of the verdict or, while it is open, of the nearer of both; after Holm. None where it was not tested.
        parts, corrected: the evidence, and the same without a known fault of the released code.
        scale: of the rows; None without any.
    """

    claim: Claim
    word: str
    why: tuple[str, ...] = ()
    p: float | None = None
    parts: tuple[PartEvidence, ...] = ()
    corrected: tuple[PartEvidence, ...] = ()
    scale: Scale | None = None

    @property
    def preconditions(self) -> dict[str, str]:
        """The trivial controls that any side does not beat, as in the evidence on a part."""
        return {why: state for part in self.parts for why, state in part.preconditions.items()}

    @property
    def is_tested(self) -> bool:
        """Whether its comparisons were tested; the effects of untested ones are not shown."""
        return self.word not in ("not run", "not testable here")

    @property
    def is_shared(self) -> bool:
        """Whether it is seen here, and a control reaches at least nine tenths of every effect of the method."""
        shares: dict[str, list[float]] = {}
        for control in (control for part in self.parts for control in part.controls if control.replaced == "method"):
            shares.setdefault(control.label, []).append(0.0 if control.is_empty else control.share)
        return self.word == "seen here" and any(min(of_control) >= 0.9 for of_control in shares.values())


@dataclass(frozen=True)
class Paper:
    """The verdicts on the claims of a paper."""

    file: ClaimFile
    verdicts: Sequence[Verdict]


def evaluate(file: ClaimFile, tables: Sequence[Table]) -> Paper:
    """Return the verdict on every claim of a file.

    Args:
        file: claims, and the runs that make their rows.
        tables: of any tasks, with all columns.
    """
    verdicts = []
    for claim in file.claims:
        parts = tuple(gather(claim, part, file.runs[part.run], tables) for part in claim.compared_parts)
        bare = replace(claim, controls=())
        corrected = tuple(
            gather(bare, part, file.runs[part.run], tables, with_items=False) for part in claim.corrected_parts
        )
        verdicts.append(_stopped(Verdict(claim, "open", (), None, parts, corrected, scale_of(parts))))
    return Paper(file, _decided(verdicts))


def _stopped(verdict: Verdict) -> Verdict:
    """Return a verdict with its word and reasons, if the claim cannot be tested."""
    if verdict.claim.out_of_reach:
        return replace(verdict, word="not testable here", why=(verdict.claim.out_of_reach,))
    if verdict.claim.not_run:
        return replace(verdict, word="not run", why=(verdict.claim.not_run,))
    preconditions = verdict.preconditions
    if failed := [why for why, state in preconditions.items() if state == "failed"]:
        without_rows = [part.missing for part in verdict.parts if part.effect is None]
        not_run = ", ".join(dict.fromkeys(name for names in without_rows for name in names.split(", ")))
        why = [f"not run: {not_run}"] if not_run else []
        return replace(verdict, word="not testable here", why=(*why, *failed))
    missing = dict.fromkeys(part.missing for part in verdict.parts if part.missing)
    missing |= dict.fromkeys(why for why, state in preconditions.items() if state == "not run")
    if missing:
        return replace(verdict, word="not run", why=tuple(missing))
    few = {test.n for part in verdict.parts for test in part.contrasts if test.p is None}
    if few:
        return replace(verdict, why=(f"{min(few)} seeds, and an interval takes {MIN_SEEDS}",))
    return verdict


def _decided(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Return the verdicts with the words and p-values of all claims that can be tested."""
    tested = [place for place, verdict in enumerate(verdicts) if verdict.word == "open" and not verdict.why]
    decided = list(verdicts)
    for place, p in zip(tested, holm([_p(verdicts[place]) for place in tested]), strict=True):
        verdict = replace(verdicts[place], p=p)
        tests = _tests(verdict)
        against = [found.part for found, mean, p_of_one in tests if mean < 0 and len(tests) * p_of_one <= ALPHA]
        if p <= ALPHA and against:
            which = f"in {', '.join(f'{part.column} against {part.against.label}' for part in against)}"
            if len(against) == len(verdict.parts):
                which = f"in all {len(against)} comparisons"
            verdict = replace(verdict, word="reversed here", why=(which,) if len(verdict.parts) > 1 else ())
        elif p <= ALPHA:
            verdict = replace(verdict, word="seen here")
        decided[place] = verdict
    return decided


def _p(verdict: Verdict) -> float:
    """Return the p of a claim: of all its tests together, or of those that point the other way."""
    tests = _tests(verdict)
    other_way = [p for _, mean, p in tests if mean < 0]
    return min(1.0, len(tests) * min(other_way)) if other_way else max(p for _, _, p in tests)


def _tests(verdict: Verdict) -> list[tuple[PartEvidence, float, float]]:
    """Return the mean and the p of everything that must be above 0, with the part that it is of."""
    pairs = [(part, test) for part in verdict.parts for test in part.contrasts]
    return [(part, test.mean, test.p) for part, test in pairs if test.p is not None]


def scale_of(parts: Sequence[PartEvidence]) -> Scale | None:
    """Return the scale of the rows of a claim; None where nothing was compared or no row has a trained model."""
    found = [(row, part.table) for part in parts if part.effect for row in part.rows if part.table and row.parameters]
    if not found:
        return None
    sizes = ranged([number(size) for size in sorted(row.parameters for row, _ in found if row.parameters)])
    weights = " and ".join(sorted({"pretrained" if weights_of(row.backbone) else "from scratch" for row, _ in found}))
    lengths = ", ".join(dict.fromkeys(_length(row) for row, _ in found))
    text = " and ".join(dict.fromkeys(_text(table) for _, table in found))
    seeds = ranged([str(n) for n in sorted(part.effect.n for part in parts if part.effect)])
    return Scale(f"{sizes} parameters {weights}, {lengths}", text, seeds)


def _length(row: TableRow) -> str:
    """Return how long a row was trained."""
    trainer, start = row.config["trainer"], row.config.get("start")
    own = f"{trainer['steps']:,}" if trainer["steps"] else f"{trainer.get('epochs', 0):g} epochs"
    unit = " steps" if trainer["steps"] else ""
    return f"{start['trainer']['steps']:,} + {own}{unit}" if start else f"{own}{unit}"


def _text(table: Table) -> str:
    """Return the name of the training data, and whether it is complete."""
    title, status = task_title(table.task, table.data_title), table.status.get("train", "official")
    if status == "official" or table.data_title:
        return title
    return {"own": "a text without a name", "subset": f"a subset of {title}"}.get(status, f"{title}, {status} data")
