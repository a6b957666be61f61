"""A frozen reference model: its cell comes first and is in the key, and it is no part of the first."""

from typing import Any

import pytest
import torch

from bench.cells.build import build
from bench.cells.cell import Cell
from bench.cells.make import make
from bench.cells.plan import make_plan
from bench.cells.record import cell_of, config_yaml, job_of
from bench.cells.run import Schedule, execute
from bench.config.arguments import RunArguments, file_values
from bench.errors import BlockedError, UsageError
from bench.models.core.objective import Objective
from bench.models.core.run_context import RunContext
from bench.models.core.states import slices
from bench.models.mle import MLE
from bench.store.checkpoints import save_checkpoint
from tests.bench.cells.test_run import Quiet
from tests.bench.contrast import Contrast
from tests.bench.generation import tiny_decoders as tiny
from tests.bench.own import Own
from tests.models import still, tiny_bilstm

OWN = """
from bench.models.core.objective import Objective


class Pair(Objective):
    name = "pair"
    paper = "for tests"
    reference = "mle"
    LINES

    def token_loss(self, log_probs, tokens, targets):
        wrong = self.reference_model.log_probs(tokens.reference)
        return -(log_probs - 0.5 * wrong).log_softmax(1).gather(1, targets[:, None]).squeeze(1)
"""
PAIR = "own_pair:Pair"
PARTS = """
from bench.models.backbones.small import small_causal
from bench.tasks.pairs import Pairs


class Mine(Pairs):
    name = "mine"


def tiny(name, texts, seed, *, width: int = 16):
    return small_causal(name, texts, seed, width=width, heads=2, layers=1, vocabulary=300)
"""


def model(kind: str, seed: int) -> Any:
    if kind == "bilstm":
        return tiny_bilstm.tiny(seed)
    return tiny.backbone(kind, seed, dtype=torch.float64)


def pair(kind: str, first: type[Objective] = Contrast) -> Objective:
    """A method over one tiny model, with another one as its reference model."""
    objective = first(model(kind, 0))
    objective.setup_run(RunContext(reference=MLE(model(kind, 1))))
    return objective.eval()


# In the program ---------------------------------------------------------------------------------------------------


@pytest.fixture
def own_pair(own: Own) -> Own:
    own.write("own_pair", OWN.replace("LINES", ""))
    return own


def cells(*methods: str, **others: Any) -> list[Cell]:
    given: dict[str, Any] = {"limit": 8, "preset": "small", **others}
    return make_plan(RunArguments(("ambiguous_template",), methods, **given)).cells


@pytest.mark.usefixtures("sample_data")
class TestCells:
    def test_its_cell_comes_first_and_is_in_the_key(self, own_pair: Own) -> None:
        reference, cell = cells(PAIR)
        assert (reference.method.name, cell.method.name) == ("mle", "pair")
        assert not reference.evaluations
        assert cell.reference is not None
        assert cell.reference.key == reference.key
        assert cell.needed == [cell.reference]
        (plain,) = cells("mle")
        assert plain.key == reference.key
        assert [run.method.name for run in cells(PAIR, "mle")] == ["mle", "pair"], "they share it"

    def test_settings_for_its_method(self, own_pair: Own, tmp_path: Any) -> None:
        """They are in its key, and `config.yaml` repeats both runs."""
        reference, cell = cells(PAIR, sets=("trainer.steps=7", "trainer.lr=0.25", "mle:backbone.layers=3"))
        assert (reference.config.trainer.steps, reference.config.trainer.lr) == (7, 0.25)
        assert (reference.config.backbone_options["layers"], cell.config.backbone_options["layers"]) == (3, 2)
        assert cell.key != cells(PAIR, sets=("trainer.steps=7", "trainer.lr=0.25"))[1].key
        path = tmp_path / "config.yaml"
        path.write_text(config_yaml(cell))
        repeated = make_plan(RunArguments(**file_values(path)))
        assert [run.key for run in repeated.cells] == [reference.key, cell.key]

    def test_both_stand_after_a_parent(self, own: Own) -> None:
        own.write("own_pair", OWN.replace("LINES", 'parent = "trime"'))
        found = cells(PAIR)
        assert [cell.method.name for cell in found] == ["trime", "mle", "pair"]
        assert found[2].parent is not None
        assert {cell.key for cell in found[2].needed} == {found[0].key, found[1].key}
        schedule = Schedule(found)
        assert [schedule.next(), schedule.next(), schedule.next()] == [0, 1, None], "it waits for both"

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ('reference = "mle.continued"', "should name a method that is trained from scratch"),
            ('reference = "own_pair:Pair"', "should name a method that is trained from scratch"),
            ('reference = "mla"', "no method 'mla'"),
        ],
    )
    def test_what_is_no_reference_model(self, own: Own, line: str, message: str) -> None:
        own.write("own_pair", OWN.replace("LINES", line))
        with pytest.raises(UsageError, match=message):
            cells(PAIR)

    def test_the_source_of_the_users_task_and_backbone_is_in_its_key(self, own_pair: Own) -> None:
        """Else a model of an older source would be taken, and other processes would not find task and backbone."""
        asked: dict[str, Any] = {"limit": 8, "preset": "small", "backbone": "own_parts:tiny"}
        keys = []
        for line in ("", "# changed"):
            own_pair.write("own_parts", PARTS + line)
            arguments = RunArguments(("own_parts:Mine",), (PAIR,), **asked)
            reference, cell = make_plan(arguments).cells
            assert reference.config.plugin_code() == cell.config.plugin_code()
            assert set(reference.config.plugins) == {"task", "backbone"}
            for run in (reference, cell):
                made = cell_of(job_of(run, arguments))
                assert (made.key, made.folder) == (run.key, run.folder)
                assert (made.reference and made.reference.key) == (run.reference and run.reference.key)
            keys.append(reference.key)
        assert keys[0] != keys[1]


@pytest.mark.usefixtures("sample_data")
def test_it_is_trained_first_and_used_in_evaluation(own_pair: Own, tmp_path: Any) -> None:
    """From nothing to texts; the checkpoint is the first model alone."""
    small = ("backbone.width=16", "backbone.layers=1", "trainer.steps=2", "evaluation.rows=2", "task:trainer.limit=8")
    arguments = RunArguments(
        ("ambiguous_template",), (PAIR,), limit=8, preset="small", results=str(tmp_path), sets=small[:-1],
        decode="greedy,beam=2",
    )  # fmt: skip
    with pytest.raises(BlockedError, match="'own_pair:Pair' needs the trained run of .* --method own_pair:Pair"):
        make("ambiguous_template", PAIR, limit=8, results=tmp_path)
    plan = make_plan(arguments)
    outcome = execute(plan, arguments, Quiet())
    assert not outcome.failed, outcome
    reference, cell = plan.cells
    record = cell.folder.trained()
    assert record is not None
    assert record["second"]["key"] == reference.key
    assert "second" not in (reference.folder.trained() or {})
    objective, _ = build(cell)
    assert not any("reference" in name for name in objective.state_dict())
    stored = reference.folder.trained()
    assert stored is not None
    for name, tensor in objective.reference_model.state_dict().items():
        assert tensor.device == objective.device, name
    assert (
        save_checkpoint(objective.reference_model)
        == reference.folder.checkpoint(stored["model"]["checkpoint_sha256"]).read_bytes()
    )


# The model ------------------------------------------------------------------------------------------------------


class TestModel:
    def test_it_is_no_part_of_the_first(self) -> None:
        objective = pair("gpt2")
        objective.train()
        assert not objective.reference_model.training
        assert not any(p.requires_grad for p in objective.reference_model.parameters())
        assert set(objective.state_dict()) == set(Contrast(model("gpt2", 0)).state_dict())
        theirs = {id(p) for p in objective.reference_model.parameters()}
        assert not theirs & {id(p) for p in objective.parameters()}

    def test_who_has_none(self) -> None:
        with pytest.raises(UsageError, match=r"contrast needs a reference model, and `reference` names mle"):
            _ = Contrast(model("gpt2", 0)).reference_model
        objective = MLE(model("gpt2", 0))
        rows = next(slices(objective.states(still.batch("gpt2"))))
        with pytest.raises(UsageError, match=r"tokens.reference needs a reference model"):
            _ = rows.reference

    @pytest.mark.parametrize("kind", still.KINDS)
    def test_slices_are_of_the_same_positions(self, kind: str) -> None:
        objective = pair(kind)
        batch = still.batch(kind)
        own, other = objective.states(batch), objective.reference_model.backbone.states(batch)
        for rows in slices(own, 7):
            assert torch.equal(rows.reference.targets, rows.targets)
            for at in range(len(rows)):
                row, place = rows.start + int(rows.group[at]), int(rows.position[at])
                assert torch.equal(rows.reference.hidden[at], other.hidden[row, place])
            picked = rows.take(torch.tensor([len(rows) - 1]))
            assert torch.equal(picked.reference.hidden[0], rows.reference.hidden[-1])

    @pytest.mark.parametrize("kind", still.KINDS)
    def test_a_loss_may_use_it(self, kind: str) -> None:
        """Gradients reach the first model alone, and are those of the same numbers held fixed."""
        objective, batch = pair(kind), still.batch(kind)
        loss = objective.step_loss(batch).total
        fixed = torch.cat(
            [objective.reference_model.log_probs(rows.reference) for rows in slices(objective.states(batch))]
        )
        whole = torch.cat([objective.logits(rows) for rows in slices(objective.states(batch))])
        targets = torch.cat([rows.targets for rows in slices(objective.states(batch))])
        expected = torch.nn.functional.cross_entropy(whole - 0.5 * fixed.detach(), targets, reduction="sum")
        still.assert_same_gradients(objective, loss, expected)
        assert all(p.grad is None for p in objective.reference_model.parameters())

    def test_who_does_not_ask_pays_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        objective = pair("gpt2", MLE)
        monkeypatch.setattr(objective.reference_model.backbone, "states", None)
        objective.step_loss(still.batch("gpt2"))
