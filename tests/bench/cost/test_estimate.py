"""Estimates of cells: every method has one, `--dry-run` states and sums them, and what does not fit is said."""

import copy
import json
from dataclasses import replace

import pytest

from bench.cells.how import How
from bench.cells.plan import make_plan
from bench.cli import parser
from bench.config.arguments import RunArguments, collect
from bench.cost import blank, trace
from bench.cost.devices import DEVICES, device_asked
from bench.cost.estimate import NOT_COUNTED, micro_batches, tracer_of
from bench.cost.plan_costs import costs_of_plan
from bench.cost.text import cost_text
from bench.cost.trace import MLE_NOTE, Tracer, kept_traces
from bench.cost.training_rows import longest
from bench.models import METHODS
from bench.store.store import CellFolder

pytestmark = pytest.mark.usefixtures("sample_data")

TINY = ("backbone.vocabulary=300", "backbone.width=16", "backbone.layers=1", "trainer.batch_size=4",
        "trainer.max_source=12", "trainer.max_target=6")  # fmt: skip


def plan(task, *methods, preset="small", sets=TINY, **others):
    arguments = RunArguments((task,), methods, preset=preset, sets=sets, controls=False, limit=8, **others)
    return make_plan(arguments)


def costs(*asked, device="cpu", memory=None, **others):
    return costs_of_plan(plan(*asked, **others), device_asked(device, memory, 1)).cells


@pytest.mark.parametrize("task", [pytest.param("logicnlg", marks=pytest.mark.slow), "text"])
def test_every_method_has_a_cost(task, tmp_path):
    methods = [name for name, entry in METHODS.items() if not entry.baseline]
    asked = plan(task, *methods, results=str(tmp_path))
    found = costs_of_plan(asked, device_asked("cpu", None, 1)).cells
    assert len(found) == len(asked.cells) > 7
    for cell, cost in zip(asked.cells, found, strict=True):
        assert cost.unknown == ""
        assert cost.note == (MLE_NOTE if cell.second else "")  # a plan has no second model to run
        assert cost.parameters >= cost.trained_parameters > 5_000
        assert cost.memory_bytes > 16 * cost.trained_parameters
        assert (cost.micro_batch, cost.accumulate, cost.fits) == (4, 1, True)
        assert cost.flops > 0
        assert cost.hours > 0
        assert cost.checkpoint_bytes == 4 * cost.parameters


def test_baselines_and_trained_cells_cost_nothing(tiny_store):
    assert costs("logicnlg", "lead") == []
    assert costs_of_plan(stored_plan(tiny_store), device_asked("cpu", None)).cells == []


def stored_plan(store, *more):
    """The plan of a store's one cell."""
    (config,) = store.rglob("config.yaml")
    return make_plan(collect(parser().parse_args(["run", "--config", str(config), "--results", str(store), *more])))


def test_less_memory_is_more_micro_batches_and_at_last_none():
    sets = (*TINY, "trainer.batch_size=64")
    (whole,) = costs("logicnlg", "mle", memory="8GB", sets=sets)
    (cut,) = costs("logicnlg", "mle", memory=f"{whole.memory_bytes / 1e6:.3f}MB", sets=sets)
    assert (whole.accumulate, cut.fits) == (1, True)
    assert (cut.micro_batch * cut.accumulate, cut.accumulate > 1) == (64, True)
    assert cut.memory_bytes < whole.memory_bytes
    (none,) = costs("logicnlg", "mle", memory="1KB", sets=sets)
    assert (none.fits, none.micro_batch, none.accumulate) == (False, 1, 64)
    assert none.advice.startswith("does not fit: one row takes ")
    assert "--precision bf16-mixed" in none.advice


def test_half_precision_keeps_half_the_activations(tmp_path):
    big = ("backbone.vocabulary=300", "backbone.width=64", "backbone.layers=1", "trainer.batch_size=8")
    exact, mixed = (
        Tracer("cuda").trace(cell, longest(cell), 16).memory
        for precision in ("32-true", "bf16-mixed")
        for cell in plan("logicnlg", "mle", sets=(*big, f"trainer.precision={precision}")).cells
    )
    assert 0.45 < mixed.at("activations", 64) / exact.at("activations", 64) < 0.8


def test_a_loss_that_cannot_be_run_without_numbers_has_the_memory_of_maximum_likelihood(own):
    own.write(
        "reads_numbers",
        '''
from bench.models.mle import MLE

class Reads(MLE):
    """Reads a number."""

    name = "reads"
    paper = "none"
    version = 1

    def head_loss(self, rows, head):
        if float(rows.hidden.sum()) > 0:
            return super().head_loss(rows, head)
        return super().head_loss(rows, head)
''',
    )
    (reads,) = costs("logicnlg", "reads_numbers:Reads")
    (mle,) = costs("logicnlg", "mle")
    assert reads.note == MLE_NOTE
    assert reads.memory_bytes == mle.memory_bytes


def test_a_trace_is_made_once_and_kept(monkeypatch, tmp_path):
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path))
    (cell,) = plan("logicnlg", "mle").cells
    first = Tracer("cpu").trace(cell, longest(cell), 4)
    monkeypatch.setattr(Tracer, "make", None)
    assert Tracer("cpu").trace(cell, longest(cell), 4) == first
    (file,) = tmp_path.rglob("*.json")
    file.write_text("{}")
    with pytest.raises(TypeError):  # damaged, so it would be made again
        Tracer("cpu").trace(cell, longest(cell), 4)


def test_a_paper_recipe_is_planned_without_its_data_and_stands_beside_the_papers_hours():
    asked = make_plan(RunArguments(("writingprompts",), ("mle",), preset="paper"), costs_only=True)
    (cost,) = costs_of_plan(asked, DEVICES["a100-80gb"]).cells
    assert cost.parameters == 124_439_808
    assert cost.micro_batch * cost.accumulate == 512
    assert cost.memory_bytes < 80 * 2**30
    assert cost.steps == round(3 * 272_600 / 512)
    assert [said["text"].partition(" (")[0] for said in cost.published] == ["1.5 h on 2 A100"]
    assert 0.1 < cost.hours < 10
    assert "published rows" in cost.rows_from


def test_hours_are_measured_where_cells_were_trained_on_such_a_device(tiny_store, monkeypatch):
    monkeypatch.setattr("bench.cost.hours.SHORTEST_S", 0.0)
    asked = stored_plan(tiny_store, "--seeds", "7")
    (cost,) = costs_of_plan(asked, device_asked("cpu", None, 1)).cells
    assert cost.mfu_from == "measured, 1 trained cells here"
    assert 0 < cost.mfu < 1
    (elsewhere,) = costs_of_plan(asked, DEVICES["h100"]).cells
    assert elsewhere.mfu_from == "assumed"


def test_a_control_without_training_says_nothing_of_hours(store_copy, monkeypatch):
    """It may have chosen its settings for long: its operations are none all the same."""
    monkeypatch.setattr("bench.cost.hours.SHORTEST_S", 0.0)
    for path in store_copy.rglob("trained.json"):
        cell = CellFolder(path.parent)
        content, circumstances = cell.trained(), cell.provenance()
        path.unlink()
        cell.write_trained({**content, "train": {**content["train"], "steps": 0}}, circumstances)
    (cost,) = costs_of_plan(stored_plan(store_copy, "--seeds", "7"), device_asked("cpu", None, 1)).cells
    assert cost.mfu_from == "assumed"


def test_a_dry_run_states_and_sums_costs(bench, tmp_path):
    words = ("run", "--task", "logicnlg", "--method", "mle,trime", "--limit", "8", "--dry-run", "--quiet",
             "--results", str(tmp_path / "results"), "--set", *TINY)  # fmt: skip
    shown = bench(*words).out
    assert "\n\ncost on cpu, " in shown
    assert "float32 matrix products: highest (TF32 off)" in shown
    assert "\nsum of 2 cells: " in shown
    content = json.loads(bench(*words, "--json").out)["cost"]
    assert content["device"]["name"] == "cpu"
    assert [cell["label"] for cell in content["cells"]] == [
        f"logicnlg · {method} · small-encdec · seed 0" for method in ("mle", "trime")
    ]
    assert content["sum"]["flops"] == sum(cell["flops"] for cell in content["cells"])
    assert not (tmp_path / "results").exists()


def test_what_is_unknown_is_said(own):
    own.write("reads_files", "def factory(name, texts, seed):\n    raise ValueError('no weights are here')\n")
    asked = plan("text", "mle", sets=("trainer.batch_size=4",), backbone="reads_files:factory")
    found = costs_of_plan(asked, DEVICES["h100"])
    assert found.cells[0].unknown == "no weights are here"
    assert "unknown: no weights are here" in cost_text(found)
    assert found.content()["sum"]["unknown"] == 1


def test_small_recipes_need_no_library_of_models():
    """What `python -m tools.regenerate costs` keeps is what would be found now."""
    (cell,) = make_plan(RunArguments(("logicnlg",), ("trime",))).cells
    tracer = Tracer("cpu")
    lengths, rows = longest(cell), cell.config.trainer.batch_size
    assert tracer.key(cell, lengths, rows) in kept_traces()
    assert tracer.trace(cell, lengths, rows) == tracer.make(cell, lengths, rows)


def test_auto_takes_what_fits(tmp_path):
    """As many micro-batches as the estimate has; one row each where not even that fits, as the run may still do it."""
    (cell,) = plan("logicnlg", "mle", sets=(*TINY, "trainer.batch_size=64"), results=str(tmp_path)).cells
    cpu = device_asked("cpu", None, 1)
    assert micro_batches(cell, 1, cpu) == 1
    whole = costs_of_plan(plan("logicnlg", "mle", sets=(*TINY, "trainer.batch_size=64")), cpu).cells[0]
    one = replace(cpu, memory=int(0.8 * whole.memory_bytes))
    assert micro_batches(cell, 1, one) > 1
    small = replace(cpu, memory=1000)
    assert [micro_batches(cell, world, small) for world in (1, 4, 100)] == [64, 16, 1]


def test_auto_knows_nothing_of_an_unknown_model(own, tmp_path):
    own.write("reads_files", "def factory(name, texts, seed):\n    raise ValueError('no weights are here')\n")
    asked = plan("text", "mle", sets=("trainer.batch_size=4",), backbone="reads_files:factory", results=str(tmp_path))
    assert micro_batches(asked.cells[0], 1) is None


def test_auto_runs_a_backbone_once_for_its_methods(tmp_path, monkeypatch):
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "cache"))
    made, original = [], trace.blank_backbone
    monkeypatch.setattr(trace, "blank_backbone", lambda *given: made.append(given) or original(*given))
    tracer_of.cache_clear()
    sets = (*TINY, "trainer.batch_size=5")
    for cell in plan("text", "mle", "trime", sets=sets, results=str(tmp_path)).cells:
        assert micro_batches(cell, 1) == 1
    assert len(made) == 1
    tracer_of.cache_clear()


def test_what_is_not_trained_has_no_loss_no_states_and_its_datastore(tmp_path):
    """Its weights are read once forward; keys are counted, and what is chosen on text is said not to be."""
    asked = plan("text", "mle", "mle.knn", "mle.penalty", results=str(tmp_path), sets=(*TINY, "method.keys=20"))
    mle, knn, penalty = costs_of_plan(asked, device_asked("cpu", None, 1)).cells
    assert mle.phase != "forward"
    assert mle.state_bytes > 0
    for cost in (knn, penalty):
        assert (cost.phase, cost.state_bytes, cost.hours, cost.note) == ("forward", 0, 0.0, NOT_COUNTED)
        assert cost.memory_bytes < mle.memory_bytes
    assert penalty.checkpoint_bytes == mle.checkpoint_bytes
    assert knn.checkpoint_bytes - mle.checkpoint_bytes == 20 * (2 * 16 + 8)


DEEP = ("backbone.vocabulary=300", "backbone.width=32", "backbone.layers=2", "trainer.batch_size=8")
WHOLE = device_asked("cpu", None, 1)


def test_activations_that_are_computed_again_take_less_memory_and_more_time(tmp_path):
    asked = plan("text", "mle", sets=DEEP, results=str(tmp_path))
    (kept,) = costs_of_plan(asked, WHOLE).cells
    (again,) = costs_of_plan(asked, WHOLE, how=How(activation_checkpointing=True)).cells
    assert again.memory_bytes < kept.memory_bytes
    assert (again.parameters, again.flops) == (kept.parameters, kept.flops)
    assert again.hours == pytest.approx(4 / 3 * kept.hours)
    assert again.mfu_from == "assumed, with activations computed again"


def test_shares_take_less_memory_on_each_process(tmp_path):
    small = ("trainer.batch_size=2", "trainer.max_source=4", "trainer.max_target=4", "backbone.layers=8")
    asked = plan("text", "mle", sets=(*DEEP, *small), results=str(tmp_path))
    (whole,) = costs_of_plan(asked, WHOLE, 2).cells
    (shared,) = costs_of_plan(asked, WHOLE, 2, How(strategy="fsdp")).cells
    assert 0.5 < shared.memory_bytes / whole.memory_bytes < 0.9
    (alone,) = costs_of_plan(asked, WHOLE, 1, How(strategy="fsdp")).cells
    assert alone.memory_bytes > shared.memory_bytes


@pytest.fixture
def shallow(monkeypatch):
    """Two layers of every pretrained model."""
    real = blank.configuration

    def configuration(*asked):
        sizes = copy.deepcopy(real(*asked))
        sizes.num_hidden_layers = 2
        return sizes

    monkeypatch.setattr(blank, "configuration", configuration)


@pytest.mark.usefixtures("shallow")
def test_adapters_have_gradients_and_moments_and_are_all_that_is_saved(tmp_path):
    pytest.importorskip("peft")
    given = {"backbone": "gpt2", "preset": "small", "results": str(tmp_path)}
    sets = ("trainer.batch_size=2", "trainer.max_source=16", "trainer.max_target=16")
    found = []
    for more in ((), ("backbone.lora_rank=8",)):
        asked = make_plan(RunArguments(("text",), ("mle",), sets=(*sets, *more), **given), costs_only=True)
        found += costs_of_plan(asked, WHOLE).cells
    whole, adapted = found
    assert adapted.unknown == ""
    assert adapted.trained_parameters == 2 * 8 * (768 + 3 * 768)  # c_attn makes queries, keys and values
    assert adapted.parameters == whole.parameters + adapted.trained_parameters
    assert adapted.checkpoint_bytes == 4 * adapted.trained_parameters
    assert adapted.memory_bytes < 0.5 * whole.memory_bytes
    assert adapted.flops == pytest.approx(2 / 3 * whole.flops, rel=0.01)
    (again,) = costs_of_plan(asked, WHOLE, how=How(activation_checkpointing=True)).cells
    assert again.flops == adapted.flops
    assert again.hours == pytest.approx(6 / 4 * adapted.hours), "a forward pass more beside the two that there are"
