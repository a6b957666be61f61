"""The contract: every built-in keeps to it, each rule is missed by an objective that breaks it, and reports say so."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest
import torch

from bench.errors import UsageError
from bench.models import METHODS
from bench.models.core.objective import Objective
from bench.models.mle import MLE
from bench.tasks.encode.codec import Codec
from bench.testing import BACKBONES, CHECKS, Result, check_objective
from bench.testing.contract import NAMES, result_of
from bench.testing.method_of import method_of
from bench.testing.report import Report, lines
from bench.testing.subject import Subject
from tests.bench import mutations
from tests.bench.own import FOCAL, Own
from tests.bench.ranks import Forked
from tests.conftest import Ended

Bench = Callable[..., Ended]

OBJECTIVES = [name for name, entry in METHODS.items() if not entry.baseline]
VARIANTS = [
    f"{name}.{variant}"
    for name in OBJECTIVES
    for variant, settings in (METHODS[name].variants or {}).items()
    if any(key.startswith(("method.", "backbone.")) for key in settings)
]
VANISHING = ["tailr.power10"]
"""Whose gradient is nothing where a fresh model is."""
CAUSAL, ENCDEC = BACKBONES
QUICK = [check for check in (NAMES, *CHECKS) if not check.slow]
RULES = [check.name for check in (NAMES, *CHECKS)]


def assert_keeps(report: Report, *left_out: str) -> None:
    """All passed but for those that are left out, and what a method that says so may leave out."""
    assert report.ok, str(report)
    assert {result.check for result in report.results if result.state == "not run"} == set(left_out)
    excused = {result.check for result in report.results if result.state == "not applicable"}
    may = {"batches", "fast-form", "ranks", "source"}
    if report.name in VANISHING:
        may.add("overfit")
    assert excused <= may


# Built-ins --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "backbone"), list(zip(OBJECTIVES, itertools.cycle(BACKBONES), strict=False)))
def test_every_built_in_keeps_to_the_contract(name: str, backbone: str) -> None:
    """On one of the small backbones; on both, in `make test-long`."""
    assert_keeps(check_objective(name, backbones=[backbone], quick=True), "ranks")


@pytest.mark.slow
@pytest.mark.parametrize("name", OBJECTIVES)
def test_so_it_does_on_both_backbones(name: str) -> None:
    assert_keeps(check_objective(name, quick=True), "ranks")


@pytest.mark.slow
@pytest.mark.parametrize("name", VARIANTS)
def test_so_does_every_variant(name: str) -> None:
    assert_keeps(check_objective(name, quick=True), "ranks")


@pytest.fixture
def forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the two-process check fork its processes, which takes a second where interpreters take ten."""
    handler = "torch.distributed.elastic.multiprocessing.subprocess_handler.subprocess_handler.SubprocessHandler"
    monkeypatch.setattr(f"{handler}._popen", lambda _, command, environment: Forked(command, environment))


@pytest.mark.ddp
@pytest.mark.usefixtures("forked")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "face" else pytest.mark.slow) for name in [*OBJECTIVES, *VARIANTS]]
)
def test_two_processes_equal_one(name: str) -> None:
    """The objective that counts over processes is the one for every day."""
    method = method_of(name)
    for backbone in [method.own_backbone] if method.own_backbone else BACKBONES[: 1 + (name != "face")]:
        found = result_of(CHECKS[-1], Subject(method, backbone))
        assert found.check == "ranks"
        assert found.state == ("passed" if found.detail.startswith("4 steps") else "not applicable"), found


def test_options_are_checked_as_they_are_set() -> None:
    """A margin so large that gradients of the ranking term drown the rest is still a sum over positions."""
    report = check_objective("histalign", backbones=[CAUSAL], quick=True, sets=["method.reduction=authors"])
    assert {r.check for r in report.results if r.state == "not applicable"} == {"batches", "fast-form", "source"}
    with pytest.raises(UsageError, match="^no method in this run has the option 'alpa'; did you mean 'alpha'\\?$"):
        check_objective("histalign", sets=["method.alpa=1"])
    with pytest.raises(UsageError, match="option 'gamma' is above 0 and at most 1, not 3"):
        check_objective("scalegrad", sets=["method.gamma=3"])


def test_a_space_names_settings_of_the_method() -> None:
    """The class attribute is read when a run has trials; a check says it before."""
    subject = Subject(method_of(mutations.TunesNothing), CAUSAL)
    found = result_of(NAMES, subject)
    assert found.state == "failed"
    assert "got method.epsilon; name options of its constructor" in found.detail


def test_dropout_that_a_method_asks_for_is_on_and_what_it_trains_without_it_is_said() -> None:
    """Two passes under dropout differ; without dropout they are likelihood alone, and every other check passes."""
    (gradients,) = [check for check in CHECKS if check.name == "gradients"]
    found = {}
    for kind in (mutations.TwoPasses, mutations.TwoPassesWithoutDropout):
        found[kind] = result_of(gradients, Subject(method_of(kind), CAUSAL))
        assert found[kind].state == "passed", found[kind]
    assert "likelihood alone is trained" not in found[mutations.TwoPasses].detail
    assert "in the first step likelihood alone is trained" in found[mutations.TwoPassesWithoutDropout].detail


@pytest.mark.ddp
@pytest.mark.usefixtures("forked")
@pytest.mark.parametrize(("kind", "state"), [(mutations.TwoPasses, "passed"), (mutations.DrawsOnEachRank, "failed")])
def test_processes_are_compared_without_dropout_and_with_every_other_draw(kind: type[Objective], state: str) -> None:
    found = result_of(CHECKS[-1], Subject(method_of(kind), CAUSAL))
    assert found.state == state, found


# Mutations --------------------------------------------------------------------------------------------------------

MUTATIONS: list[tuple[type[Objective], str, set[str]]] = [
    (mutations.NoPaper, CAUSAL, {"names"}),
    (mutations.NoDocstring, CAUSAL, {"names"}),
    (mutations.TakenName, CAUSAL, {"names"}),
    (mutations.CannotBeMade, CAUSAL, {"builds"}),
    (mutations.OffByAConstant, CAUSAL, {"sums-to-one"}),
    (mutations.CutsWithoutScaling, ENCDEC, {"decoding"}),
    (mutations.ReadsItsTarget, CAUSAL, {"no-future"}),
    (mutations.ReadsItsTarget, ENCDEC, {"no-future"}),
    (mutations.IdleParameter, ENCDEC, {"gradients"}),
    (mutations.InfiniteGradient, CAUSAL, {"gradients", "certain", "fast-form", "overfit"}),  # NaN teaches nothing
    (mutations.RootOfAChance, ENCDEC, {"certain"}),
    (mutations.CountsFromThePadding, CAUSAL, {"padding"}),
    (mutations.SeesPadding, ENCDEC, {"padding", "batches", "cache"}),  # all are padded otherwise
    (mutations.FirstRowsCountMore, CAUSAL, {"batches"}),
    (mutations.FirstRowsCountMoreLater, CAUSAL, {"batches"}),
    (mutations.FirstRowsCountMoreInOddSteps, CAUSAL, {"batches"}),
    (mutations.MeanOfItsBatch, ENCDEC, {"batches"}),
    (mutations.LogsAMean, CAUSAL, {"batches"}),
    (mutations.OtherFastForm, CAUSAL, {"fast-form"}),
    (mutations.ReachesBehindTheHead, ENCDEC, {"fast-form"}),
    (mutations.DropsItsLongestRow, ENCDEC, set()),
    (mutations.DropsAndReachesBehindTheHead, CAUSAL, {"fast-form"}),
    (mutations.CancelsInBf16, CAUSAL, {"bf16"}),
    (mutations.CountsPositions, ENCDEC, {"cache"}),
    (mutations.PunishesEarlier, CAUSAL, {"cache"}),
    (mutations.PunishesEarlier, ENCDEC, {"cache"}),
    (mutations.TrainsOnEarlier, CAUSAL, {"cache"}),
    (mutations.TrainsOnEarlier, ENCDEC, {"cache"}),
    (mutations.PunishesTheSource, CAUSAL, set()),  # there it is what was written, and the prompt
    (mutations.PunishesTheSource, ENCDEC, {"source"}),
    (mutations.DecodesAgainstTheSource, ENCDEC, {"source", "cache"}),  # and padding comes and goes
    (mutations.AvoidsTheSource, ENCDEC, set()),
    (mutations.PunishesWritten, CAUSAL, set()),
    (mutations.PunishesWritten, ENCDEC, set()),
    (mutations.CountsInPython, CAUSAL, {"reload"}),
    (mutations.WrongSign, CAUSAL, {"overfit"}),
]
"""What is broken, where, and the checks that say so: these and no others."""

HARMS = (mutations.InfiniteGradient, mutations.SeesPadding, mutations.DecodesAgainstTheSource)
FEW_MUTATIONS = [found for found in MUTATIONS if not found[2] or found[0] in HARMS]


every_mutation = pytest.mark.parametrize(
    ("kind", "backbone", "rules"), MUTATIONS, ids=lambda value: getattr(value, "__name__", None)
)


@every_mutation
def test_a_broken_rule_is_caught(kind: type[Objective], backbone: str, rules: set[str]) -> None:
    """By each check that looks at the rule; that no other check accuses it, in `make test-long`."""
    subject = Subject(method_of(kind), backbone)
    results = [result_of(check, subject) for check in QUICK if check.name in rules]
    assert [result.state for result in results] == ["failed"] * len(rules), results
    assert "\n" not in "".join(result.detail for result in results)


@pytest.mark.slow
@every_mutation
def test_no_other_rule_is_said_to_be_broken(kind: type[Objective], backbone: str, rules: set[str]) -> None:
    assert_accused(kind, backbone, rules)


@pytest.mark.parametrize(("kind", "backbone", "rules"), FEW_MUTATIONS)
def test_of_a_few_it_is_not_said_either(kind: type[Objective], backbone: str, rules: set[str]) -> None:
    """Those that break no rule there, and one of each kind of harm."""
    assert_accused(kind, backbone, rules)


def assert_accused(kind: type[Objective], backbone: str, rules: set[str]) -> None:
    """The whole report names these rules and no others."""
    report = check_objective(kind, backbones=[backbone], quick=True)
    assert {result.check for result in report.failed} == rules, str(report)
    assert "\n" not in "".join(result.detail for result in report.results)


@pytest.mark.ddp
@pytest.mark.usefixtures("forked")
def test_counting_on_one_rank_is_caught() -> None:
    """Only two processes show it."""
    kind = mutations.CountsOnOneRank
    report = check_objective(kind, backbones=[CAUSAL])
    (found,) = report.failed
    assert found.check == "ranks"
    assert found.detail.startswith("expected '")
    assert "sum counts over ranks with `reduce`" in found.detail


@pytest.mark.slow
@pytest.mark.ddp
def test_so_it_is_in_interpreters_of_its_own(bench: Bench) -> None:
    ended = bench("check", "tests.bench.mutations:CountsOnOneRank", "--backbone", ENCDEC)
    assert (ended.code, ended.out.count("FAILED")) == (1, 1)
    assert "  FAILED  two processes equal one: expected '" in ended.out


@pytest.mark.ddp
def test_a_process_that_fails_is_told_with_its_last_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.processes.group.sys.executable", "/bin/false")
    found = result_of(CHECKS[-1], Subject(method_of("mle"), CAUSAL))
    assert found.detail.startswith(
        "expected 2 processes to end well; got code 1 from process 0, which said last: nothing; let every parameter "
    )


def test_exemplars_of_other_rows_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were generation to read the exemplars in another order than training does."""
    right = Codec.prompt_batch

    def rolled(codec: Codec, rows: Any) -> dict[str, Any]:
        found = right(codec, rows)
        return {name: value.roll(1, 0) if name.startswith("exemplar") else value for name, value in found.items()}

    monkeypatch.setattr(Codec, "prompt_batch", rolled)
    for name in ("attexp", "adadec"):
        found = [result_of(check, Subject(method_of(name), "bilstm")) for check in CHECKS if check.name == "cache"]
        assert [result.state for result in found] == ["failed"]


def test_every_rule_has_an_objective_that_breaks_it() -> None:
    caught = {rule for _, _, rules in MUTATIONS for rule in rules}
    assert caught == set(RULES) - {"ranks"}


def test_an_objective_that_breaks_nothing_is_not_accused() -> None:
    assert_keeps(check_objective(mutations.Sound, backbones=[CAUSAL], quick=True), "ranks")


def test_what_an_objective_says_of_itself_is_believed() -> None:
    """batch_invariant = False excuses from what cannot hold then."""
    kind = type("Said", (mutations.MeanOfItsBatch,), {"__doc__": "It says so.", "batch_invariant": False})
    report = check_objective(kind, backbones=[CAUSAL])
    assert report.ok
    excused = {result.check: result.detail for result in report.results if result.state == "not applicable"}
    assert set(excused) == {"batches", "fast-form", "ranks", "source"}
    assert excused["batches"] == "it says batch_invariant = False"


# What it takes ----------------------------------------------------------------------------------------------------


def test_a_strangers_class_by_its_place(own: Own) -> None:
    own.write("my_losses", FOCAL.replace('name = "focal"', '"""Focal loss."""\n    name = "focal"'))
    report = check_objective("my_losses:Focal", backbones=[ENCDEC], quick=True)
    assert_keeps(report, "ranks")
    assert report.results[0].detail == "focal, Lin et al. 2017; options: gamma, mode"
    own.write("my_losses", FOCAL.replace('name = "focal"', ""))
    (found,) = check_objective("my_losses:Focal", backbones=[ENCDEC], quick=True).results
    assert found.detail.startswith("expected a class attribute `name`")


def test_a_class_that_no_other_process_finds_is_not_run_there() -> None:
    kind = type("Local", (mutations.Sound,), {"__doc__": "Made here."})
    report = check_objective(kind, backbones=[CAUSAL])
    assert report.ok
    assert [r.detail for r in report.results if r.check == "ranks"] == [
        "other processes cannot import 'tests.bench.testing.test_testing:Local': "
        "put the class in a module, at its top level"
    ]


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("nope", "^no method 'nope'; there are: "),
        ("lead", "^'lead' is a baseline, which is not trained; there is nothing to check$"),
        ("unlikelihood", "^'unlikelihood' stands for ul_token, ul_seq, ul_token_seq; name one of them$"),
        ("json:JSONDecoder", "^'json:JSONDecoder' is not a subclass of bench.models.core.objective.Objective$"),
    ],
)
def test_what_is_no_objective_is_refused(what: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        check_objective(what)


def test_a_method_that_fits_nowhere_was_not_checked() -> None:
    kind = type("Picky", (mutations.Sound,), {"__doc__": "Wants more.", "fields": frozenset({"image"})})
    report = check_objective(kind, quick=True)
    assert [result.check for result in report.failed] == ["fits"]
    assert str(report).count("needs the task field image") == 2  # once a backbone, not once a check


def test_the_built_in_is_known_by_its_class() -> None:
    assert method_of(MLE).name == "mle"
    assert method_of("f2softmax.fixed_eq_token").values("method") == {"classes": "fixed_eq_token", "number": 8}


def test_the_callers_random_numbers_are_left_alone() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    check_objective(mutations.Sound, backbones=[CAUSAL], quick=True)
    assert torch.equal(torch.rand(3), expected)


def test_rows_are_uneven_and_carry_exemplars_where_they_are_read() -> None:
    """Else padding, ends and exemplars would not be looked at."""
    for name, backbone in (("mle", CAUSAL), ("mle", ENCDEC), ("adadec", "bilstm")):
        subject = Subject(method_of(name), backbone)
        assert len({len(row.source) for row in subject.rows}) > 4
        assert len({len(row.target) for row in subject.rows}) == len(subject.rows)
        assert ("exemplar_ids" in subject.batch(subject.rows)) == (name == "adadec")
        if name == "adadec":
            assert len({row.exemplar for row in subject.rows[::3]}) == len(subject.rows[::3])
            assert len({len(row.exemplar or ()) for row in subject.rows}) > 1
        end = subject.codec.tokenizer.eos_token_id
        assert sum(row.target[-1] == end for row in subject.rows) == len(subject.rows) // 2


# What it says -----------------------------------------------------------------------------------------------------


def test_a_report_as_lines_and_as_content() -> None:
    done = Result("a", "holds", "small-causal", "passed", "3 steps")
    broken = Result("b", "breaks", "small-causal", "failed", "expected 1; got 2; do 3")
    absent = Result("c", "is not there", "small-encdec", "not applicable", "why")
    report = Report("x", (done, broken, absent, dataclasses.replace(absent, check="d")))
    assert str(report).splitlines() == [
        "on small-causal",
        "  ok      holds: 3 steps",
        "  FAILED  breaks: expected 1; got 2; do 3",
        "on small-encdec",
        "  -       is not there: not applicable, why",
        "x: 1 passed, 1 failed, 2 not applicable",
    ]
    assert report.failed == (broken,)
    content = json.loads(json.dumps(report.as_dict()))
    assert (content["name"], content["ok"], [c["state"] for c in content["checks"]]) == (
        "x", False, ["passed", "failed", "not applicable", "not applicable"],
    )  # fmt: skip
    assert lines(done, None) == ["on small-causal", "  ok      holds: 3 steps"]


class TestCommand:
    def test_ok_is_0(self, bench: Bench) -> None:
        ended = bench("check", "mle", "--quick", "--backbone", CAUSAL)
        assert (ended.code, ended.err) == (0, "")
        shown = ended.out.splitlines()
        assert shown[:2] == [
            "  ok      names itself and its paper, and says what it does: mle, maximum likelihood",
            "on small-causal",
        ]
        assert shown[-1] == "mle: 14 passed, 1 not applicable, 1 not run"
        assert len(shown) == len(RULES) + 2

    def test_a_failure_is_1(self, bench: Bench) -> None:
        target = "tests.bench.mutations:OffByAConstant"
        ended = bench("check", target, "--quick", "--backbone", CAUSAL)
        assert ended.code == 1
        assert "  FAILED  log-probabilities sum to one: expected rows of exp(log_probs) that sum to 1; got 1.0e-03" in (
            ended.out
        )
        target = "tests.bench.mutations:CannotBeMade"  # nothing else is run of it
        (content,) = json.loads(bench("check", target, "--quick", "--backbone", CAUSAL, "--json").out)
        assert not content["ok"]
        assert [c["check"] for c in content["checks"] if c["state"] == "failed"] == ["builds"]

    @pytest.mark.parametrize(
        ("arguments", "code", "says"),
        [
            (["nope"], 2, "no method, task, metric, backbone or decoding 'nope'; bench list has the names"),
            (["lead"], 2, "'lead' is a baseline"),
            (["mle", "--backbone", "small-casual"], 2, "no backbone 'small-casual'; did you mean 'small-causal'?"),
            (["mle", "--set", "method.alpha=1"], 2, "no method in this run has the option 'alpha'"),
            (["mle", "--seed", "-1"], 2, "argument --seed: a whole number of at least 0, not '-1'"),
            (["no_such_module:X"], 3, "cannot import 'no_such_module'"),
            ([], 2, "the following arguments are required: NAME"),
        ],
    )
    def test_usage_is_2_and_what_is_not_there_3(self, bench: Bench, arguments: list[str], code: int, says: str) -> None:
        ended = bench("check", *arguments)
        assert (ended.code, ended.out) == (code, "")
        assert ended.complaints == ended.err.splitlines()
        assert ended.err.startswith(f"bench: {says}")

    def test_several_at_once(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[Any] = []

        def stub(name: str, **options: Any) -> Report:
            asked.append(name)
            return Report(name, ())

        monkeypatch.setattr("bench.testing.check_objective", stub)
        assert bench("check", "unlikelihood,mle*").code == 0
        assert asked[:4] == ["ul_token", "ul_seq", "ul_token_seq", "mle"]
        asked.clear()
        assert bench("check", "*").code == 0
        assert {"copy_exemplar", "lead"}.isdisjoint(asked)
        assert set(OBJECTIVES) <= set(asked)
