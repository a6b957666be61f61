"""A frozen reference model: its cell comes first and is in the key, it is no part of the first, and it reads along."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from bench.cells.build import build
from bench.cells.cell import Cell
from bench.cells.make import make
from bench.cells.plan import make_plan
from bench.cells.record import cell_of, job_of
from bench.cells.run import Schedule, execute
from bench.config.arguments import RunArguments
from bench.decodings.core.decoding import Decoding
from bench.decodings.searches import Beam, ContrastiveSearch, Greedy
from bench.errors import BlockedError, UsageError
from bench.generation.generation import generate
from bench.leaderboards.frame import comparable
from bench.models.core.objective import Objective
from bench.models.core.run_context import RunContext
from bench.models.core.states import TokenSlice, slices
from bench.models.mle import MLE
from bench.store.checkpoints import save_checkpoint
from tests.bench.cells.test_run import Quiet
from tests.bench.contrast import Contrast
from tests.bench.generation import decoding_oracle as oracle
from tests.bench.generation import tiny_decoders as tiny
from tests.bench.own import Own
from tests.drawn import in_turn
from tests.models import still, tiny_bilstm

KINDS = ["gpt2", "llama", "bart", "bilstm"]
OWN = """
from bench.models.core.objective import Objective


class Pair(Objective):
    name = "pair"
    paper = "for tests"
    reference = "mle"
    reference_settings = {"backbone.width": 16, "trainer.steps": 2}
    LINES

    def decode_log_probs(self, rows, decoding):
        return (self.log_probs(rows) - 0.5 * self.reference_model.log_probs(rows.reference)).log_softmax(1)
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
        assert plain.key != reference.key
        assert (reference.config.backbone_options["width"], reference.config.trainer.steps) == (16, 2)
        assert cell.config.backbone_options == plain.config.backbone_options
        _, other = cells(PAIR, sets=("reference:trainer.lr=0.5",))
        assert other.key != cell.key
        assert other.config == cell.config

    def test_who_wins(self, own_pair: Own) -> None:
        """What is set for all, then the class, then what is set for `reference:`."""
        sets = ("trainer.steps=7", "trainer.lr=0.25", "mle:backbone.layers=3", "reference:backbone.width=8")
        reference, cell = cells(PAIR, sets=sets)
        stored = cells(PAIR, sets=(*sets[:3], "second:backbone.width=8"))  # config.yaml of version 0.2
        assert [run.key for run in stored] == [reference.key, cell.key]
        assert (reference.config.trainer.steps, reference.config.trainer.lr) == (2, 0.25)
        assert (reference.config.backbone_options["width"], reference.config.backbone_options["layers"]) == (8, 3)
        assert cell.config.trainer.steps == 7

    def test_both_stand_after_a_parent(self, own: Own) -> None:
        own.write("own_pair", OWN.replace("LINES", 'parent = "mle"'))
        found = cells(PAIR)
        assert [cell.method.name for cell in found] == ["mle", "mle", "pair"]
        assert found[2].parent is not None
        assert {cell.key for cell in found[2].needed} == {found[0].key, found[1].key}
        schedule = Schedule(found)
        assert [schedule.next(), schedule.next(), schedule.next()] == [0, 1, None], "it waits for both"

    def test_the_cell_of_the_same_settings_is_shared(self, own: Own) -> None:
        own.write("own_pair", OWN.replace("LINES", "reference_settings = {}"))
        assert [cell.method.name for cell in cells(PAIR, "mle")] == ["mle", "pair"]

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ('reference = "mle.continued"', "should name a method that is trained from scratch"),
            ('reference = "own_pair:Pair"', "should name a method that is trained from scratch"),
            ('reference = "mla"', "no method 'mla'"),
            ('reference_settings = {"task.x": 1}', "is an option of the task"),
        ],
    )
    def test_what_is_no_reference_model(self, own: Own, line: str, message: str) -> None:
        own.write("own_pair", OWN.replace("LINES", line))
        with pytest.raises(UsageError, match=message):
            cells(PAIR)

    def test_what_is_set_for_it(self, own_pair: Own) -> None:
        with pytest.raises(UsageError, match="is for 'reference', which is not in this run"):
            cells("mle", sets=("reference:trainer.steps=1",))
        with pytest.raises(UsageError, match="no backbone in this run has the option 'widht'"):
            cells(PAIR, sets=("reference:backbone.widht=1",))

    def test_another_architecture_is_left_out(self, own: Own) -> None:
        own.write("own_pair", OWN.replace("LINES", 'reference_settings = {"backbone": "small-encdec"}'))
        plan = make_plan(RunArguments(("ambiguous_template",), ("mle", PAIR), limit=8, preset="small"))
        assert [cell.method.name for cell in plan.cells] == ["mle"]
        assert "has for its reference model mle, which has the backbone small-encdec" in plan.skips[0].reason

    def test_a_worker_makes_the_same_cell(self, own_pair: Own) -> None:
        arguments = RunArguments(("ambiguous_template",), (PAIR,), limit=8, preset="small")
        for cell in make_plan(arguments).cells:
            made = cell_of(job_of(cell, arguments))
            assert (made.key, made.folder, made.reference and made.reference.key) == (
                cell.key, cell.folder, cell.reference and cell.reference.key)  # fmt: skip

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
            assert cell_of(job_of(reference, arguments)).key == reference.key
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
    assert comparable(record)["second"]["backbone_options"]["width"] == 16  # other settings are another row of a table
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
        monkeypatch.setattr(objective.reference_model.backbone, "extend", None)
        objective.step_loss(still.batch("gpt2"))
        generate(objective, tiny.collate(objective.backbone, tiny.texts(3)), Greedy(), 4)


# Generation -----------------------------------------------------------------------------------------------------


DECODINGS = [
    Greedy(),
    Beam(beams=3),
    Beam(beams=4, length_penalty=2.0),
    Beam(beams=3, gnmt=1.0),
    ContrastiveSearch(k=1),
]


def named(value: str | Decoding) -> str:
    """A backbone or a decoding in the name of a test."""
    if isinstance(value, str):
        return value
    return value.text


@pytest.mark.parametrize(("kind", "decoding"), in_turn(KINDS, DECODINGS), ids=named)
def test_it_reads_along_with_a_cache_of_its_own(kind: str, decoding: Decoding) -> None:
    """Texts are those of full forward passes of both models over every prefix; beams move in both caches."""
    objective = pair(kind)
    given = tiny_bilstm.texts(3, 5) if kind == "bilstm" else tiny.texts(3, 5)
    prompts = tiny.collate(objective.backbone, given)
    texts = generate(objective, prompts, decoding, 6)
    assert texts == [oracle.decode(objective, row, decoding, 6, tiny.END) for row in given]
    alone = generate(MLE(objective.backbone), prompts, decoding, 6)
    assert texts != alone


class AsksLate(Contrast):
    """Contrasts from the fourth token on."""

    def decode_log_probs(self, rows: TokenSlice, decoding: Decoding) -> Tensor:
        if rows.history is not None and int((rows.written >= 0).sum(1).max()) < 3:
            return MLE.log_probs(self, rows)
        return super().decode_log_probs(rows, decoding)


@pytest.mark.parametrize("decoding", DECODINGS[:2], ids=named)
@pytest.mark.parametrize("kind", KINDS)
def test_it_reads_what_it_has_missed(kind: str, decoding: Decoding) -> None:
    objective = pair(kind, AsksLate)
    given = tiny_bilstm.texts(3, 5) if kind == "bilstm" else tiny.texts(3, 5)
    texts = generate(objective, tiny.collate(objective.backbone, given), decoding, 6)
    assert texts == [oracle.decode(objective, row, decoding, 6, tiny.END) for row in given]


class Borrows(MLE):
    """Has no reference model of its own: a decoding gives it one."""

    def decode_log_probs(self, rows: TokenSlice, decoding: Decoding) -> Tensor:
        other = torch.log_softmax(self.__dict__["other"].logits(rows.reference), dim=1)
        return (self.logits(rows) - 0.5 * other).log_softmax(1)


@pytest.mark.parametrize("kind", ["gpt2", "bart"])
def test_a_decoding_may_bring_one(kind: str) -> None:
    objective, other = Borrows(model(kind, 0)), MLE(model(kind, 1))
    objective.__dict__["other"] = other
    prompts = tiny.collate(objective.backbone, tiny.texts(3, 5))
    texts = generate(objective, prompts, Beam(beams=3), 6, reference=other)
    assert texts == generate(pair(kind), prompts, Beam(beams=3), 6)
