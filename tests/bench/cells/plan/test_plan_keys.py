"""Keys of plans: what decides a result changes exactly the keys it should, and what does not changes none."""

import json
from dataclasses import fields
from pathlib import Path

import pytest

from bench.cells.record import about
from bench.config.config import EvaluationConfig, ExecutionConfig, TrainerConfig
from bench.models.f2softmax import F2Softmax
from bench.models.mle import MLE
from bench.tasks.ambiguous_template import AmbiguousTemplate
from tests.bench import logicnlg_folder
from tests.bench.cells.plan.planned import AMBIGUOUS, HISTALIGN, SMALL, TABLES, TRAINER, cell, keys, plan
from tests.bench.own import FOCAL
from tests.bench.plugin_files import FILES

pytestmark = pytest.mark.usefixtures("sample_data")


# What changes the training key ------------------------------------------------------------------------------------


def test_the_lists_of_options_here_are_whole():
    """But those that name a place: tests/bench/cells/plan/test_start.py."""
    assert set(TRAINER) == {f.name for f in fields(TrainerConfig)}
    assert set(HISTALIGN) == set(cell(method="histalign").config.method_options)
    assert set(SMALL) | {"tokenizer"} == set(cell().config.backbone_options)


@pytest.mark.parametrize("text", [f"trainer.{n}={v}" for n, v in TRAINER.items()] +
                         [f"method.{n}={v}" for n, v in HISTALIGN.items()] +
                         [f"backbone.{n}={v}" for n, v in SMALL.items()] +
                         ["task.split=clean", "task.split_seed=1"])  # fmt: skip
def test_every_option_of_the_training_changes_every_key(text):
    limit = None if text.startswith("trainer.limit") else 8
    task, needed = AMBIGUOUS, []
    if text.startswith(("trainer.watch", "trainer.select", "trainer.patience")):
        task, needed = TABLES, ["trainer.validate=0.5"]  # texts are watched where there is a validation
    options = {"method": "histalign", "task": task, "limit": limit}
    plain, changed = keys(*needed, **options), keys(*needed, text, **options)
    assert plain[0] != changed[0]
    assert not set(plain[1].values()) & set(changed[1].values())


@pytest.mark.parametrize("others", [{"seeds": (1,)}, {"method": "trime"}, {"backbone": "small-encdec"}, {"limit": 7}])
def test_seed_method_backbone_and_limit_change_the_key(others):
    assert keys()[0] != keys(**others)[0]


@pytest.mark.parametrize("text", ["task.train=proxy", "task.style=plog"])
def test_options_of_logicnlg_change_the_key(text):
    assert keys(task=TABLES)[0] != keys(text, task=TABLES)[0]


@pytest.mark.parametrize("kind", [AmbiguousTemplate, MLE])
def test_a_new_version_of_task_or_method_changes_the_key(monkeypatch, kind):
    plain = keys()
    monkeypatch.setattr(kind, "version", 99)
    assert keys()[0] != plain[0]


def test_a_variant_and_its_options_typed_out_are_the_same_cell():
    typed_out = keys("method.variant=released", method="histalign")
    assert keys(method="histalign.released") == typed_out
    assert keys(method="histalign") != typed_out


def test_the_source_of_a_users_class_is_in_the_key(own):
    own.write("my_losses", FOCAL)
    plain = keys(method="my_losses:Focal")
    assert keys(method="my_losses:Focal") == plain
    assert keys("method.gamma=2.5", method="my_losses:Focal")[0] != plain[0]
    own.write("my_losses", FOCAL.replace("** self.gamma", "** (1 * self.gamma)"))
    assert keys(method="my_losses:Focal")[0] != plain[0]


def test_a_revised_option_changes_the_keys_of_rows_of_ones_own_only(tmp_path, monkeypatch):
    """MefMax as released cuts ties otherwise than it did, which the rows of no built-in task have."""
    for split in ("train", "valid", "test"):
        (tmp_path / f"{split}.txt").write_text(("some words of my own " * 12 + "\n") * 6)
    own = {"task": "text", "sets": (f"task.path={tmp_path}",), "limit": None}
    asked = [
        ({**own, "method": "f2softmax.released"}, True),
        ({**own, "method": "f2softmax", "sets": (*own["sets"], "method.classes=released")}, True),
        ({**own, "method": "f2softmax"}, False),
        ({**own, "method": "mle"}, False),
        ({"task": "text", "method": "f2softmax.released"}, False),
    ]
    new = [plan(**options).cells[-1] for options, _ in asked]
    monkeypatch.setattr(F2Softmax, "revised", {})
    old = [plan(**options).cells[-1] for options, _ in asked]
    for (options, moves), cell_now, cell_before in zip(asked, new, old, strict=True):
        assert (cell_now.key != cell_before.key) == moves, options
        assert ("revised" in cell_now.method.code) == moves, "tables part rows by it"


# What changes rows keys only --------------------------------------------------------------------------------------

EVALUATION = {"split": ("valid", {"likelihood", "probe", "spectrum"}),
              "rows": ("3", {"likelihood", "probe", "spectrum"}),
              "batch_size": ("3", {"likelihood", "probe", "spectrum"}),
              "spectrum_rows": ("2", {"spectrum"}),
              "sampling_seeds": ("7", set())}  # fmt: skip


def test_the_list_of_evaluation_options_is_whole():
    assert set(EVALUATION) == {f.name for f in fields(EvaluationConfig)}


@pytest.mark.parametrize("name", EVALUATION)
def test_evaluation_options_change_the_rows_keys_they_concern(name):
    value, changed = EVALUATION[name]
    (trained, plain), (same, other) = keys(), keys(f"evaluation.{name}={value}")
    assert trained == same
    assert {kind for kind in plain if plain[kind] != other[kind]} == changed


def test_a_new_version_of_evaluation_changes_rows_keys_only(monkeypatch):
    trained, rows = keys()
    monkeypatch.setattr("bench.cells.required.VERSION", 99)
    assert keys()[0] == trained
    assert not set(keys()[1].values()) & set(rows.values())


def test_each_setting_of_a_decoding_counts_and_its_spelling_does_not():
    plain = keys(task=TABLES, decode="beam=4")[1]["generation beam=4"]
    assert keys(task=TABLES, decode=" beam=4 + length_penalty=1 ")[1]["generation beam=4"] == plain
    others = ["beam=5", "beam=4+length_penalty=2", "beam=4+no_repeat_ngram=3", "beam=4+max_new_tokens=5"]
    found = {key for text in others for kind, key in keys(task=TABLES, decode=text)[1].items() if kind != "likelihood"}
    assert len(found | {plain}) == 5


def test_a_decoding_of_ones_own_has_its_source_in_the_keys_of_its_rows_only(own):
    own.write("mine", FILES["top_a"])
    before = keys(task=TABLES, decode="greedy,mine:TopA=0.2")
    assert list(before[1]) == ["likelihood", "generation greedy", "generation top_a=0.2"]
    own.write("mine", FILES["top_a"] + "\n# another rule\n")
    after = keys(task=TABLES, decode="greedy,mine:TopA=0.2")
    assert before[0] == after[0]
    changed = {kind for kind, key in before[1].items() if key != after[1][kind]}
    assert changed == {"generation top_a=0.2"}


# What changes no key ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("others", [{"devices": 2}, {"threads": 4}, {"results": "elsewhere"},
                                    {"loggers": ("wandb",)}])  # fmt: skip
def test_how_and_where_it_runs_changes_no_key(others):
    assert keys(task=TABLES) == keys(task=TABLES, **others)


def test_execution_settings_change_no_key():
    settings = ("activation_checkpointing=yes", "deterministic=yes",
                "state_every=7", "log_dir=x")  # fmt: skip
    assert len(settings) == len(fields(ExecutionConfig))
    assert keys(task=TABLES) == keys(*(f"execution.{setting}" for setting in settings), task=TABLES)


def test_how_the_data_folder_is_spelled_changes_no_key(tmp_path, monkeypatch):
    data = logicnlg_folder.write(tmp_path / "data")
    right = keys(task=TABLES, data_dir=str(data))
    (tmp_path / "link").symlink_to(data)
    moved = logicnlg_folder.write(tmp_path / "a folder with spaces, é")
    monkeypatch.chdir(tmp_path)
    for spelled in ("data", "./data/", "data/../data", "link", str(moved)):
        assert keys(task=TABLES, data_dir=spelled) == right
    monkeypatch.setenv("BENCH_DATA", "data")
    assert keys(task=TABLES) == right
    assert keys(task=TABLES, data_dir=str(tmp_path)) == right


def test_other_data_changes_the_key(tmp_path):
    one = logicnlg_folder.write(tmp_path / "one")
    two = logicnlg_folder.write(tmp_path / "two", last="2")
    found = {keys(task=TABLES, data_dir=str(folder))[0] for folder in (one, two)} | {keys(task=TABLES)[0]}
    assert len(found) == 3


def test_only_the_training_split_is_in_the_training_key(tmp_path):
    one, two = (logicnlg_folder.write(tmp_path / name) for name in ("one", "two"))
    path = two / "logicnlg" / "test_lm.json"
    path.write_text(path.read_text().replace("12 points", "12 goals"))
    (trained, rows), (same, other) = (keys(task=TABLES, data_dir=str(folder)) for folder in (one, two))
    assert trained == same
    assert not set(rows.values()) & set(other.values())


def test_a_scope_is_how_it_was_said_and_not_what():
    assert keys("mle:trainer.lr=0.5") == keys("trainer.lr=0.5") == keys("ambiguous_template:trainer.lr=0.5")


# Validation text --------------------------------------------------------------------------------------------------

CHOOSING = ("mle.cache", "mle.knn", "mle.penalty")


@pytest.fixture
def validations(tmp_path):
    """Two data folders that differ in their validation split alone."""
    one, two = (logicnlg_folder.write(tmp_path / name) for name in ("one", "two"))
    file = two / "logicnlg" / "val_lm.json"
    file.write_text(file.read_text().replace("12 points", "12 goals"))
    return str(one), str(two)


@pytest.mark.parametrize(
    ("method", "sets", "moves"),
    [
        *((method, (), True) for method in CHOOSING),
        ("mle", (), False),
        ("mle", ("trainer.validate=1",), False),
        ("mle", ("trainer.validate=1", "trainer.select=loss"), True),
    ],
)
def test_validation_text_is_in_the_key_of_what_it_decides(validations, method, sets, moves):
    one, two = (plan(task=TABLES, method=method, data_dir=folder, sets=sets).cells[-1] for folder in validations)
    assert (one.key != two.key) == moves
    assert list(about(one)["data"]) == ["train", "test", *(["valid"] if moves else [])]


@pytest.mark.parametrize("method", CHOOSING)
def test_nothing_is_chosen_on_the_rows_that_are_evaluated(method):
    found = plan(task=TABLES, method=method, sets=("evaluation.split=valid",))
    assert not found.cells
    assert "evaluation.split=valid would evaluate it on; evaluate on test" in found.skips[0].reason
    assert keys("evaluation.split=valid", task=TABLES)


def test_a_validation_split_without_rows_is_refused(validations):
    (Path(validations[0]) / "logicnlg" / "val_lm.json").write_text(json.dumps({}))
    found = plan(task=TABLES, method="mle.cache", data_dir=validations[0])
    assert not found.cells
    assert found.skips[0].reason.startswith("chooses on the validation split, which ")
    assert plan(task=TABLES, method="mle", data_dir=validations[0]).cells
