"""The claim files: what they compare is printed as claimed, every name is there, and every run makes its rows."""

from typing import Any

import pytest

from bench.base.registry import all_names
from bench.cells.cell import Cell
from bench.cells.plan import make_plan
from bench.config.arguments import RunArguments
from bench.leaderboards.claim.claim_files import HUMAN, Claim, ClaimFile, Part, Run, Side, claim_of, names, read
from bench.leaderboards.claim.evidence import contrasts_of, printed_effect
from bench.leaderboards.claim.report import CONTROLS
from bench.metrics import METRICS
from bench.metrics.columns import is_named
from bench.models import METHODS
from bench.tasks import TASKS

FILES = [read(name) for name in names()]


def sides(claim: Claim, part: Part) -> list[Side]:
    """Everything that a part compares: its sides, their controls, and those without a known fault."""
    controls = [control for control in claim.controls if part.replaced_by(control)]
    corrected = [claim.corrected[side.method] for side in part.sides.values() if side.method in claim.corrected]
    return [side for side in (*part.sides.values(), *controls, *corrected) if side.method != HUMAN]


def parts(*, within_reach: bool = False) -> list[Any]:
    return [pytest.param(file, claim, part, id=f"{file.name}: {claim.text}: {part.column}, {part.against.label}")
            for file in FILES for claim in file.claims
            for part in (claim.compared_parts if within_reach else claim.parts)]  # fmt: skip


def test_there_are_the_three_papers() -> None:
    assert names() == ["adadec", "f2softmax", "histalign"]


@pytest.mark.parametrize(("file", "claim", "part"), parts())
def test_what_a_claim_compares_is_printed_in_the_claimed_direction(file: ClaimFile, claim: Claim, part: Part) -> None:
    printed = printed_effect(claim, part)
    if printed is not None:
        assert all(test.mean > 0 for test in contrasts_of(part, {0: printed}))
    else:
        assert "Figure" in claim.where or "tested here" in claim.says


@pytest.mark.parametrize(
    ("paper", "begins", "printed"),
    [
        ("f2softmax", "F²-Softmax also improves KLD", [58.9, 19.1]),  # "by 59% and 19%": n = 2
        ("f2softmax", "F²-Softmax improves Rep performance by 50%", [50.7]),
        ("f2softmax", "MLE produces frequent tokens 34% more", [34.0, 40.0]),
        ("adadec", "By using adaptive decoders", [1.5, 1.0, 1.2]),
        ("histalign", "As a result, HISTALIGN outperforms both baselines", [13.47, 10.06, 20.91, 23.04, 17.04, 15.85,
                                                                          13.24, 2.04]),
    ],
)  # fmt: skip
def test_the_estimand_is_that_of_the_sentence(paper: str, begins: str, printed: list[float]) -> None:
    (claim,) = (claim for claim in read(paper).claims if claim.quote.startswith(begins))
    assert [printed_effect(claim, part) for part in claim.parts] == pytest.approx(printed, abs=0.06)


@pytest.mark.parametrize("file", FILES, ids=names())
def test_a_claim_is_one_sentence_and_stands_once(file: ClaimFile) -> None:
    assert len({claim.quote for claim in file.claims}) == len({claim.text for claim in file.claims}) == len(file.claims)


@pytest.mark.parametrize("file", FILES, ids=names())
def test_names_are_there(file: ClaimFile) -> None:
    known = set(all_names(METHODS))
    for run in file.runs.values():
        assert run.task in TASKS
        assert {*run.methods, *run.controls} <= known
    for claim in file.claims:
        assert {control.label for control in claim.controls} <= set(CONTROLS)
        for part in claim.compared_parts:
            task = TASKS[file.runs[part.run].task].load()
            patterns = [pattern[1:] for metric in task.info.metrics for pattern in METRICS[metric].columns]
            for column in (*part.columns, *filter(None, [part.precondition])):
                assert any(is_named(column, pattern) for pattern in patterns), column
            compared = {side.method for side in sides(claim, part)}
            assert compared <= known
            for method in compared:
                base = method.partition(".")[0]
                assert method != "histalign.mean", "it is an objective of this suite"
                assert METHODS[base].source != "memory", "it carries no claim of a paper"
            with_both = [side.method.partition(".") for side in part.sides.values() if side.method != HUMAN]
            forms = {variant == "released" for base, _, variant in with_both
                     if "released" in (METHODS[base].variants or {})}  # fmt: skip
            assert len(forms) < 2, "compare paper with paper or released with released"


@pytest.mark.parametrize("file", FILES, ids=names())
def test_every_comparison_has_trivial_controls_that_a_run_makes(file: ClaimFile) -> None:
    for claim in file.claims:
        for part in claim.compared_parts:
            run = file.runs[part.run]
            assert not claim.corrected or (claim.fault and claim.instead)
            of_task = [other.methods for other in file.runs.values() if other.task == run.task]
            assert run.controls
            assert set(run.controls) <= {method for methods in of_task for method in methods}


@pytest.fixture(scope="module")
def planned() -> dict[tuple[str, str], list[Cell]]:
    """Cells of every run, by file and task, from built-in samples; nothing is trained."""
    found: dict[tuple[str, str], list[Cell]] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BENCH_DATA", "")
        patch.setenv("BENCH_CACHE", "nowhere")
        patch.setenv("HF_HUB_OFFLINE", "1")
        for file in FILES:
            for run in file.runs.values():
                arguments = RunArguments((run.task,), run.methods, (run.seeds[0],), preset=run.preset, sets=run.sets,
                                     decode=run.decode or None, results="nowhere")  # fmt: skip
                plan = make_plan(arguments)
                assert not plan.skips, plan.skips
                found.setdefault((file.name, run.task), []).extend(plan.cells)
    return found


@pytest.mark.parametrize(("file", "claim", "part"), parts(within_reach=True))
def test_runs_make_every_row_that_claims_read(
    file: ClaimFile, claim: Claim, part: Part, planned: dict[tuple[str, str], list[Cell]]
) -> None:
    run = file.runs[part.run]
    for side in sides(claim, part):
        assert any(makes(side, run, cell) for cell in planned[file.name, run.task]), side.label


def makes(side: Side, run: Run, cell: Cell) -> bool:
    """Whether a cell gives the row of a side."""
    trainer = (cell.parent or cell).config.trainer
    settings = {f"trainer.{name}": value for name, value in vars(trainer).items()}
    settings |= {f"method.{name}": value for name, value in cell.config.method_options.items()}
    settings |= {f"backbone.{name}": value for name, value in cell.config.backbone_options.items()}
    decodings = [what.decoding.text for what in cell.evaluations.values() if what.decoding] or [""]
    return (
        cell.method.name == side.method
        and any(text.partition("+")[0].rpartition(":")[2] == run.decoding for text in decodings)
        and all(settings.get(name) == value for name, value in {**run.where, **side.where}.items())
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"relation": "lover"}, "'higher', 'lower', 'nearer', 'near' or 'no_higher'"),
        ({"column": "kld"}, "column"),
        ({"relation": "near"}, "`margin` above 0 and `margin_why` go with the relations 'near' and 'no_higher' alone"),
        ({"margin": 1.0, "margin_why": "ours"}, "`margin` above 0 and `margin_why` go with"),
        ({"relation": "near", "margin": 1.0}, "`margin` above 0 and `margin_why` go with"),
        ({"columns": ["kld", "rep"], "printed": "KLD", "mean": True}, "expected a printed heading for each of"),
        ({"parts": []}, "expected `parts`, or a reason in `out_of_reach`"),
        ({"controls": ["mle.decoupled", "trime"]}, "trime is no declared control of a side; a rival is none"),
    ],
)
def test_fields_that_do_not_go_together_are_refused(given: dict[str, Any], message: str) -> None:
    good = {"quote": "q", "where": "w", "method": "f2softmax", "against": "mle", "columns": "kld", "relation": "lower",
            "run": "r"}  # fmt: skip
    claim_of(good)
    with pytest.raises(ValueError, match=message):
        claim_of(good | given)
