"""The audit of two cells: every kind of difference lands in its group, and only the objective is let pass."""

import copy

import pytest

from bench.leaderboards.audit import FLAG, NOTHING, audit, facts, only_the_objective
from tests.leaderboards.handmade import scored, trained

CONTENT = {
    "key": "aa", "status": "ok", "batch_invariant": True, "seed_scheme": "s/1", "start": None,
    "config": {"task": "logicnlg", "method": "mle", "backbone": "small-encdec", "seed": 0, "preset": "small",
               "trainer": {"steps": 10, "lr": 0.1}, "evaluation": {"split": "test", "batch_size": 50},
               "decodings": ["greedy"], "task_options": {}, "method_options": {}, "backbone_options": {"width": 8}},
    "method": {"class": "mle", "version": 1},
    "data": {"train": {"sha256": "t", "status": "official", "rows": 10}, "test": {"sha256": "e", "rows": 5}},
    "model": {"parameters": 100, "trained_parameters": 90, "checkpoint_sha256": "c", "tokenizer_sha256": "k"},
    "train": {"steps": 10, "tokens": 320, "rows": 10, "curve": [[1, 2.0]]},
}  # fmt: skip
PROVENANCE = {
    "bench": "0.1.0", "code": {"commit": "f", "dirty": False}, "host": "h", "written": "now", "wall_s": 3.0,
    "environment": {"python": "3.11", "torch": "2.6", "gpu": None, "packages_sha256": "p", "threads": 1},
}  # fmt: skip
OF = {"kind": "generation", "split": "test", "decoding": {"name": "greedy"}, "ids": {"n": 5, "sha256": "i"},
      "batch_size": 50, "precision": "32-true", "max_new_tokens": 64}  # fmt: skip


def record(path="", value=None, of=(OF,)):
    """A record with one thing changed, named by its dotted place in content or, after `@`, in the provenance."""
    content, provenance = copy.deepcopy(CONTENT), copy.deepcopy(PROVENANCE)
    at = provenance if path.startswith("@") else content
    *above, last = path.lstrip("@").split(".")
    for name in above:
        at = at[name]
    if path:
        at[last] = value
    return dict(facts(content, provenance, of))


def test_equal_cells_do_not_differ():
    assert audit(record(), record()) == []
    assert only_the_objective([])


@pytest.mark.parametrize(
    ("path", "value", "group", "name"),
    [
        ("config.method", "trime", "objective", "method"),
        ("config.method_options", {"alpha": 1}, "objective", "method_options.alpha"),
        ("method.version", 2, "objective", "code.version"),
        ("config.backbone_options.width", 9, "configuration", "backbone_options.width"),
        ("config.trainer.lr", 0.2, "configuration", "trainer.lr"),
        ("config.seed", 1, "seed", "seed"),
        ("data.train.sha256", "u", "data", "train.sha256"),
        ("model.parameters", 101, "parameters", "model.parameters"),
        ("train.tokens", 321, "training", "train.tokens"),
        ("status", "diverged", "training", "status"),
        ("config.evaluation.batch_size", 51, "decodings", "evaluation.batch_size"),
        ("@bench", "0.2.0", "code", "bench"),
        ("@environment.torch", "2.7", "packages", "torch"),
        ("@environment.gpu", "H100", "hardware", "gpu"),
        ("@wall_s", 30.0, "cost", "wall_s"),
        ("train.peak_memory", 9, "cost", "train.peak_memory"),
    ],
)
def test_a_difference_lands_in_its_group(path, value, group, name):
    (found,) = audit(record(), record(path, value))
    assert (found.group, found.name) == (group, name)
    assert only_the_objective([found]) == (group in ("objective", "cost"))


@pytest.mark.parametrize(
    ("path", "value"),
    [("model.checkpoint_sha256", "d"), ("train.curve", [[1, 9.0]]), ("key", "bb"), ("@written", "then"),
     ("train.validation", [[1, {"nll": 2.0}]]), ("train.kept", {"value": 2.0}),
     ("@environment.packages_sha256", "q"), ("config.decodings", ["beam=4"])],
)  # fmt: skip
def test_what_follows_from_the_rest_is_no_difference(path, value):
    assert audit(record(), record(path, value)) == []


def test_a_start_counts_as_more_training():
    start = {"config": {**CONTENT["config"], "seed": 3}, "data": CONTENT["data"], "train": {"tokens": 99, "curve": []}}
    found = audit(record(), record("start", start))
    assert {one.group for one in found} == {"start"}
    assert ("start.train.tokens", NOTHING, 99) in {(one.name, one.first, one.second) for one in found}
    assert not only_the_objective(found)


def test_decodings_and_their_rows_are_compared_but_not_those_of_controls():
    more = {**OF, "decoding": {"name": "beam=4"}}
    assert [(d.group, d.name) for d in audit(record(), record(of=(OF, more)))] == [
        ("decodings", "generation test beam=4")]  # fmt: skip
    assert audit(record(), record(of=(OF, {**more, "shown_as": "mle.decoupled"}))) == []
    (rows,) = audit(record(), record(of=({**OF, "ids": {"n": 4, "sha256": "j"}},)))
    assert (rows.first["rows"], rows.second["rows"]) == (5, 4)


# The command ------------------------------------------------------------------------------------------------------


def test_the_command_exits_with_0_where_only_the_objective_differs(bench, tmp_path):
    one, other = (scored(trained(tmp_path, method), {"bleu-1": 1.0}) for method in ("mle", "trime"))
    ended = bench("compare", str(one.path), other.path.name, "--results", str(tmp_path))
    assert (ended.code, ended.err) == (0, "")
    assert "method: mle | trime" in ended.out
    assert ended.out.endswith("only the objective differs\n")
    ended = bench("compare", str(one.path), str(one.path))
    assert (ended.code, ended.out.splitlines()[-1]) == (0, "nothing differs")


def test_the_command_exits_with_1_and_flags_what_else_differs(bench, tmp_path):
    one, other = trained(tmp_path, "mle"), trained(tmp_path, "trime", trainer__steps=20)
    ended = bench("compare", one.path.name[:8], other.path.name[:8], "--results", str(tmp_path))
    assert ended.code == 1
    assert ended.out.endswith(f"{FLAG}: configuration\n")
    assert "trainer.steps: 10 | 20" in ended.out


def test_a_name_of_no_run_or_of_several_is_refused(bench, tmp_path):
    key = trained(tmp_path, "mle").path.name
    trained(tmp_path, "mle", 1)
    assert "; did you mean 'logicnlg/mle'?" in bench("compare", "logicnlg/ml", key, "--results", str(tmp_path)).err
    for name, found in (("zz", "0 trained runs: none"), ("logicnlg/mle", "2 trained runs: logicnlg/mle/")):
        ended = bench("compare", name, key, "--results", str(tmp_path))
        assert (ended.code, len(ended.complaints), f"'{name}' is the name of {found}" in ended.err) == (3, 1, True)


def test_stored_names_cannot_command_the_terminal(bench, tmp_path):
    one, other = trained(tmp_path, "mle"), trained(tmp_path, "mle", backbone="\x1b[2Jevil\r")
    ended = bench("compare", str(one.path), str(other.path))
    assert ended.code == 1
    assert "\x1b" not in ended.out and "\r" not in ended.out  # noqa: PT018
