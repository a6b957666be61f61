"""`check_objective`: every built-in objective passes, and each wrong one is caught by the check that is for it."""

import itertools
from collections.abc import Iterable
from typing import Any

import pytest

from bench.commands.check import kind_of
from bench.config.resolve import find_method
from bench.errors import UsageError
from bench.models import METHODS
from bench.models.core.objective import Objective
from bench.tasks.encode.codec import Codec
from bench.testing import BACKBONES, CHECKS, Result, check_objective
from bench.testing.objective import cache, ranks
from bench.testing.report import run_checks
from bench.testing.subject import Subject
from tests.bench import mutations
from tests.bench.own import FOCAL, Own
from tests.bench.ranks import Forked
from tests.conftest import Bench

OBJECTIVES = [name for name, entry in METHODS.items() if not entry.baseline]
VARIANTS = [
    f"{name}.{variant}"
    for name in OBJECTIVES
    for variant, settings in (METHODS[name].variants or {}).items()
    if any(key.startswith(("method.", "backbone.")) or key == "class" for key in settings)
    and f"{name}.{variant}" not in ("mle.min_p", "mle.typical")  # they decode, and on open-ended tasks alone
]
BUILT_IN = [*OBJECTIVES, *VARIANTS]
TRAINED = [name for name in BUILT_IN if not find_method(name).untrained]
CAUSAL, ENCDEC = BACKBONES


def in_state(results: Iterable[Result], state: str) -> set[str]:
    """The names of the checks that ended so."""
    return {result.check for result in results if result.state == state}


def assert_passes(name: str, **options: Any) -> None:
    """No check fails, and only checks are left out that a method may be excused from."""
    results = list(check_objective(name, quick=True, **options))
    assert all(result.ok for result in results), "\n".join(map(str, results))
    may = {"batches", "fast-form", "ranks"}
    if name == "tailr.power10":  # it has no gradient on a fresh model
        may |= {"overfit"}
    assert in_state(results, "not applicable") <= may


# Built-ins --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "backbone"), list(zip(BUILT_IN, itertools.cycle(BACKBONES), strict=False)))
def test_every_built_in_passes(name: str, backbone: str) -> None:
    """On one of the small backbones; on both in `make test-long`."""
    assert_passes(name, backbones=[backbone])


@pytest.mark.slow
@pytest.mark.parametrize("name", BUILT_IN)
def test_every_built_in_passes_on_both_backbones(name: str) -> None:
    assert_passes(name)


@pytest.fixture
def forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the two-process check fork its processes, which takes a second where interpreters take ten."""
    handler = "torch.distributed.elastic.multiprocessing.subprocess_handler.subprocess_handler.SubprocessHandler"
    monkeypatch.setattr(f"{handler}._popen", lambda _, command, environment: Forked(command, environment))


@pytest.mark.ddp
@pytest.mark.usefixtures("forked")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "face" else pytest.mark.slow) for name in TRAINED]
)
def test_two_processes_equal_one(name: str) -> None:
    """The objective that counts over processes is the one for every day."""
    method = find_method(name)
    for backbone in [method.own_backbone] if method.own_backbone else BACKBONES[: 1 + (name != "face")]:
        (found,) = run_checks([ranks], Subject(method, backbone), plugin=Objective)
        assert found.state == ("passed" if found.detail.startswith("4 steps") else "not applicable"), found


# Wrong objectives -------------------------------------------------------------------------------------------------

WRONG: list[tuple[type[Objective], str, set[str]]] = [
    (mutations.CannotBeMade, CAUSAL, {"builds"}),
    (mutations.OffByAConstant, CAUSAL, {"sums-to-one"}),
    (mutations.CutsWithoutScaling, ENCDEC, {"sums-to-one"}),
    (mutations.ReadsItsTarget, CAUSAL, {"cache"}),
    (mutations.IdleParameter, ENCDEC, {"overfit"}),
    (mutations.RootOfAChance, ENCDEC, {"finite"}),
    (mutations.DividesByNothing, CAUSAL, {"finite"}),
    (mutations.CountsFromThePadding, CAUSAL, {"padding"}),
    (mutations.FirstRowsCountMore, CAUSAL, {"batches"}),
    (mutations.LogsAMean, CAUSAL, {"batches"}),
    (mutations.OtherFastForm, CAUSAL, {"fast-form"}),
    (mutations.ReachesBehindTheHead, ENCDEC, {"fast-form"}),
    (mutations.CancelsInBf16, CAUSAL, {"bf16"}),
    (mutations.CountsPositions, ENCDEC, {"cache"}),
    (mutations.CountsInPython, CAUSAL, {"reload"}),
    (mutations.WrongSign, CAUSAL, {"overfit"}),
    (mutations.CountsOnOneRank, CAUSAL, {"ranks"}),
    (mutations.DrawsOnEachRank, CAUSAL, {"padding", "batches", "ranks"}),
    (mutations.Sound, CAUSAL, set()),
]
"""What is wrong, where, and the checks that say so: these and no others."""


@pytest.mark.usefixtures("forked")
@pytest.mark.parametrize(
    ("kind", "backbone", "rules"),
    [pytest.param(*wrong, marks=[pytest.mark.ddp] * ("ranks" in wrong[2]), id=wrong[0].__name__) for wrong in WRONG],
)
def test_a_wrong_objective_is_caught_by_its_check(kind: type[Objective], backbone: str, rules: set[str]) -> None:
    results = list(check_objective(kind, backbones=[backbone], quick="ranks" not in rules))
    assert in_state(results, "failed") == rules, "\n".join(map(str, results))
    assert "\n" not in "".join(result.detail for result in results)


def test_every_check_has_an_objective_that_fails_it() -> None:
    caught = {rule for _, _, rules in WRONG for rule in rules}
    assert caught == {check.__name__.replace("_", "-") for check in CHECKS}


def test_exemplars_of_other_rows_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were generation to read the exemplars in another order than training does."""
    right = Codec.prompt_batch

    def rolled(codec: Codec, rows: Any) -> dict[str, Any]:
        found = right(codec, rows)
        return {name: value.roll(1, 0) if name.startswith("exemplar") else value for name, value in found.items()}

    monkeypatch.setattr(Codec, "prompt_batch", rolled)
    (found,) = run_checks([cache], Subject(find_method("adadec"), "bilstm"), plugin=Objective)
    assert found.state == "failed"


# What it takes ----------------------------------------------------------------------------------------------------


def test_a_class_of_ones_own_and_its_options(own: Own) -> None:
    own.write("my_losses", FOCAL)
    assert_passes("my_losses:Focal", backbones=[ENCDEC], sets=["method.gamma=1"])
    first = next(check_objective("my_losses:Focal", backbones=[ENCDEC]))
    assert first.detail.endswith("options: gamma, mode")
    with pytest.raises(UsageError, match="no method in this run has the option 'gama'"):
        list(check_objective("my_losses:Focal", sets=["method.gama=1"]))


def test_an_error_says_where_in_the_users_file(own: Own) -> None:
    own.write("my_losses", FOCAL.replace("nll = -log_probs.gather", "nll = -log_props.gather"))
    results = check_objective("my_losses:Focal", backbones=[CAUSAL], quick=True)
    line = FOCAL.splitlines().index("        nll = -log_probs.gather(1, targets[:, None]).squeeze(1)") + 1
    details = {result.check: result.detail for result in results}
    assert f"NameError at my_losses.py:{line}: name 'log_props' is not defined" in details["finite"]


def test_a_method_that_fits_no_backbone_fails() -> None:
    results = list(check_objective(mutations.NeedsImages))
    assert in_state(results, "failed") == {"fits"}
    assert [result.check for result in results] == ["builds", "builds", "fits"]


def test_what_an_objective_says_of_itself_is_believed() -> None:
    results = list(check_objective(mutations.CountsFirstRowsAndSaysSo, backbones=[CAUSAL]))
    assert not in_state(results, "failed")
    assert in_state(results, "not applicable") >= {"batches", "ranks"}


# The command ------------------------------------------------------------------------------------------------------


def test_the_command_prints_each_check_and_its_exit_code_says_whether_one_failed(bench: Bench) -> None:
    ended = bench("check", "mle", "--quick", "--backbone", CAUSAL)
    assert (ended.code, ended.err) == (0, "")
    first, *_, last = ended.out.splitlines()
    assert first.startswith("ok      builds on small-causal: ")
    assert last == "mle: 10 passed"
    target = "tests.bench.mutations:CannotBeMade"  # nothing else is run of it
    ended = bench("check", target, "--quick", "--backbone", CAUSAL)
    assert ended.code == 1
    assert ended.out.startswith("FAILED  builds on small-causal: AttributeError at mutations.py:")
    assert ended.out.endswith(f"{target}: 1 failed\n")


def test_an_error_that_fails_many_checks_is_printed_once(bench: Bench, own: Own) -> None:
    own.write("my_losses", FOCAL.replace("nll = -log_probs.gather", "nll = -log_props.gather"))
    ended = bench("check", "my_losses:Focal", "--quick", "--backbone", CAUSAL)
    assert ended.out.count("name 'log_props' is not defined") == 1
    assert ended.out.count(" on small-causal: as above\n") == ended.out.count("FAILED") - 1 > 0


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["rogue"], 2, "no method, task, metric, backbone or decoding 'rogue'; did you mean 'rouge'?"),
        (["lead"], 2, "'lead' is a baseline, which is not trained"),
        (["mle", "--backbone", "small-casual"], 2, "no backbone 'small-casual'; did you mean 'small-causal'?"),
        (["mle", "--set", "method.alpha=1"], 2, "no method in this run has the option 'alpha'"),
        (["json:JSONDecoder"], 2, "'json:JSONDecoder' is no subclass of"),
        (["no_such_module:X"], 3, "cannot import 'no_such_module'"),
    ],
)
def test_what_cannot_be_checked_is_said(bench: Bench, arguments: list[str], code: int, says: str) -> None:
    ended = bench("check", *arguments)
    assert (ended.code, ended.out) == (code, "")
    assert ended.err.startswith(f"bench: {says}")


@pytest.mark.parametrize(
    ("name", "kind"),
    [("mauve[all-minilm-l6-v2]", "metrics"), ("decoupled:nucleus=0.9", "decodings"), ("mle.*", "methods"),
     ("topk=3+temperature=0.7", "decodings"), ("gigaword", "tasks"), ("small-causal", "backbones")],
)  # fmt: skip
def test_what_a_name_is_of(name: str, kind: str) -> None:
    assert kind_of(name) == kind


def test_globs_and_groups_stand_for_methods(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[str] = []

    def stub(name: str, **options: Any) -> list[Result]:
        checked.append(name)
        return []

    monkeypatch.setattr("bench.testing.check_objective", stub)
    assert bench("check", "unlikelihood").code == 0
    assert checked == ["ul_token", "ul_seq", "ul_token_seq"]
    checked.clear()
    assert bench("check", "*").code == 0
    assert "lead" not in checked
    assert set(OBJECTIVES) <= set(checked)
