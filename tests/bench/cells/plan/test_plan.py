"""Plans: config.yaml repeats a cell, cells stand in order, and what cannot run is refused or skipped in words."""

import pytest

from bench.cells.plan import make_plan
from bench.config.arguments import RunArguments
from bench.errors import UsageError
from tests.bench.cells.plan.planned import AMBIGUOUS, SMALL, TABLES, TRAINER, again, cell, plan
from tests.bench.own import FOCAL

pytestmark = pytest.mark.usefixtures("sample_data")


# config.yaml ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sets", "others"),
    [
        ((), {}),
        ((), {"limit": None}),
        (("task.eval_rows=all", "trainer.lr=1e-5", "trainer.precision=bf16-mixed"), {"seeds": (7,)}),
        (("task.eval_rows=3", "task.eval_split=valid", "evaluation.batch_size=2"), {}),
        ([f"trainer.{n}={v}" for n, v in TRAINER.items()], {"limit": None, "task": TABLES}),
        ([f"backbone.{n}={v}" for n, v in SMALL.items()], {"backbone": "small-causal"}),
        (("method.alpha=0.3",), {"method": "histalign"}),
        (("method.reduction=sum",), {"method": "histalign.released"}),
        ((), {"method": "trime.released", "task": TABLES}),
        (("task.style=plog",), {"task": TABLES, "decode": "greedy,nucleus=0.9+temperature=0.7,beam=4+early_stopping"}),
    ],
)
def test_the_config_of_a_cell_repeats_it(tmp_path, sets, others):
    found = cell(*sets, **others)
    (repeated,) = again(tmp_path, found)
    assert repeated.key == found.key
    assert repeated.evaluations == found.evaluations
    assert repeated.config == found.config


def test_the_config_of_a_users_class_repeats_it(tmp_path, own):
    own.write("my_losses", FOCAL)
    found = cell(method="my_losses:Focal")
    assert [run.key for run in again(tmp_path, found)] == [found.key]


def test_the_command_line_wins_over_the_file(tmp_path):
    found = cell("trainer.precision=bf16-mixed", "trainer.steps=9")
    (steps,) = again(tmp_path, found, "--set", "trainer.steps=3")
    assert (steps.config.trainer.steps, steps.config.trainer.precision) == (3, "bf16-mixed")
    for precision in ("32-true", "64-true"):
        (other,) = again(tmp_path, found, "--set", f"trainer.precision={precision}")
        assert other.config.trainer.precision == precision
    (other,) = again(tmp_path, found, "--seeds", "4", "--method", "trime", "--limit", "5")
    assert (other.method.name, other.config.seed, other.config.trainer.limit) == ("trime", 4, 5)
    *_, found = plan(sets=("trainer.steps=9", "mle:trainer.steps=5"), method="tailr.power").cells
    *_, fine_tuned = again(tmp_path, found, "--set", "trainer.steps=3")  # the file has lines for each method
    assert (fine_tuned.config.trainer.steps, fine_tuned.parent.config.trainer.steps) == (3, 3)
    *_, fine_tuned = again(tmp_path, found, "--set", "trainer.epochs=2")
    assert (fine_tuned.config.trainer.steps, fine_tuned.config.trainer.epochs) == (0, 2)


# The matrix -------------------------------------------------------------------------------------------------------


def test_cells_stand_in_the_order_task_method_seed():
    arguments = RunArguments((TABLES, AMBIGUOUS), ("trime", "mle"), (1, 0), limit=8, preset="small")
    found = [(c.config.task, c.config.method, c.config.seed) for c in make_plan(arguments).cells]
    assert found == [(t, m, s) for t in (TABLES, AMBIGUOUS) for m in ("trime", "mle") for s in (1, 0)]
    assert len({c.key for c in make_plan(arguments).cells}) == 8


def test_data_is_read_once_for_all_cells_that_share_it():
    said = []
    found = make_plan(RunArguments((TABLES,), ("all",), (0, 1), limit=8, preset="small"), said.append)
    assert len({id(c.task) for c in found.cells}) == 1
    assert [line.partition(":")[0] for line in said] == [TABLES, TABLES, TABLES]
    assert "built-in sample" in found.data[0]


def test_validation_rows_are_counted_where_a_run_chooses_something_by_them():
    assert "to choose" not in " ".join(plan(task=TABLES).data)
    chosen = plan(task=TABLES, sets=("trainer.validate=1.0", "trainer.select=ppl"))
    assert f"{TABLES}: valid 8 (sample), to choose what is kept" in chosen.data


ENCODERS = FOCAL.replace('paper = "', 'architectures = ("encoder-decoder",)\n    paper = "')
NEEDY = FOCAL.replace('paper = "', 'fields = frozenset({"exemplar_ids"})\n    paper = "')


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (ENCODERS, "works on encoder-decoder backbones, not on decoder-only ones"),
        (NEEDY, "needs the task field exemplar_ids"),
    ],
)
def test_what_does_not_fit_is_skipped_once_with_its_reason(own, text, reason):
    own.write("my_losses", text)
    arguments = RunArguments((AMBIGUOUS,), ("mle", "my_losses:Focal"), (0, 1, 2), limit=8, preset="small")
    found = make_plan(arguments)
    assert [c.config.method for c in found.cells] == ["mle"] * 3
    assert [vars(skip) for skip in found.skips] == [
        {"task": AMBIGUOUS, "method": "focal", "backbone": "small-causal", "reason": reason}
    ]
    if text is ENCODERS:
        assert not make_plan(RunArguments((TABLES,), ("my_losses:Focal",), limit=8, preset="small")).skips


# What is refused --------------------------------------------------------------------------------------------------


BILSTM = {"backbone": "bilstm", "task": TABLES}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"method": "histalign", "sets": ("method.margin=-0.1",)}, "'margin' must be at least 0, not -0.1"),
        ({"method": "histalign", "sets": ("method.margin=nan",)}, "'margin' must be a finite number, not 'nan'"),
        ({"method": "ul_seq", "sets": ("method.mix=2",), "task": "text"}, "'mix' must be at least 0 and at most 1"),
        ({"method": "f2softmax", "sets": ("method.number=4",)}, "number=4 has no effect with classes=mefmax"),
        ({"method": "f2softmax", "sets": ("method.classes=fixed_eq_token",)}, "needs the number of classes"),
        ({"sets": ("backbone.dropout=1",)}, "'dropout' must be at least 0 and below 1, not 1"),
        ({"sets": ("backbone.heads=3",)}, "backbone.width is a multiple of backbone.heads, not 128 and 3"),
        ({**BILSTM, "sets": ("backbone.embedding_width=8",)}, "tied embeddings need"),
        ({"task": "text", "sets": ("task.prompt_words=0",)}, "'prompt_words' must be at least 1, not 0"),
        ({"task": "text", "sets": ("task.words=5",)}, "task.words must be at least 8 more than task.prompt_words"),
        ({"sets": ("trainer.steps=0",)}, "backbone small-causal has random weights"),
        ({"sets": ("trainer.select=loss",)}, "need trainer.validate"),
        ({"sets": ("trainer.patience=2",)}, "need trainer.validate"),
        ({"task": TABLES, "sets": ("trainer.validate=1", "trainer.select=bleu-1")},
         "there are: loss, nll, ppl; trainer.watch adds columns"),
        ({"task": TABLES, "sets": ("trainer.validate=1", "trainer.watch=table_bleu", "trainer.select=Bleu-2")},
         "; did you mean 'bleu-2'?"),
        ({"task": TABLES, "sets": ("trainer.validate=1", "trainer.watch=rouge")}, "which scores no texts of logicnlg"),
        ({"sets": ("trainer.validate=1", "trainer.watch=rouge")}, "which scores no texts of ambiguous_template"),
    ],
)  # fmt: skip
def test_a_plan_refuses_what_a_training_would(change, says):
    with pytest.raises(UsageError) as found:
        plan(**change)
    assert says in str(found.value)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({**BILSTM, "method": "ul_token", "sets": ("method.variant=f2_code",)}, "which a copying backbone cannot"),
        ({"task": TABLES, "sets": ("backbone.embeddings=reference",)}, "logicnlg has no reference embeddings"),
    ],
)
def test_a_plan_skips_what_one_place_could_not_train(change, reason):
    found = plan(**change)
    assert not found.cells
    assert reason in found.skips[0].reason
