"""LoRA: adapters are trained in place of a pretrained model, and are all that a checkpoint holds."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load, load_file
from torch import Tensor

from bench.config.config import parse_sets
from bench.config.resolve import cell_config, find_method
from bench.errors import MissingError, StoreError, UsageError
from bench.models.backbones.backbone import Backbone
from bench.models.backbones.hub import hub
from bench.models.histalign import HistAlign
from bench.store.checkpoints import load_checkpoint, save_checkpoint
from bench.tasks.ambiguous_template import AmbiguousTemplate
from tests.conftest import Bench
from tests.e2e import stores
from tests.models.backbones.folders import Texts, save_model
from tests.models.backbones.test_hub import WORDS

KINDS = ["gpt2", "llama", "bart"]
LAYERS = {"gpt2": "c_attn", "llama": "q_proj,v_proj", "bart": "q_proj,v_proj"}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("models")
    return {kind: save_model(kind, root / kind) for kind in KINDS}


def adapted(folder: Path, texts: Texts | None = None, **options: Any) -> Backbone:
    pytest.importorskip("peft")
    return hub(str(folder), texts or WORDS, 3, **{"lora_rank": 2, **options})


def batch(kind: str) -> Any:
    ids = torch.tensor([[5, 6, 7, 8], [5, 6, 0, 0]])
    mask = (ids > 0).long()
    return {"input_ids": ids, "attention_mask": mask, "labels": ids.masked_fill(mask == 0, -100)}


def log_probs(objective: HistAlign, kind: str) -> Tensor:
    with torch.no_grad():
        return torch.cat([nll for _, nll in objective.eval().nll(objective.states(batch(kind)))])


def step(objective: HistAlign, kind: str) -> None:
    """One step of an optimiser, with a rate that changes every weight it has."""
    trained = [p for p in objective.train().parameters() if p.requires_grad]
    optimiser = torch.optim.SGD(trained, lr=1.0)
    for _ in range(2):  # after the first one the second matrix is not zero any more
        optimiser.zero_grad()
        objective.step_loss(batch(kind)).total.backward()
        optimiser.step()


@pytest.mark.parametrize("kind", KINDS)
def test_adapters_alone_are_trained_and_stored(kind: str, folders: dict[str, Path]) -> None:
    objective = HistAlign(adapted(folders[kind]))
    assert objective.backbone.lora is not None
    assert objective.backbone.lora.as_dict() == {
        "rank": 2, "alpha": 16, "dropout": 0.0, "targets": LAYERS[kind], "merged": False,
    }  # fmt: skip
    before = {name: p.detach().clone() for name, p in objective.named_parameters()}
    step(objective, kind)
    changed = {name for name, p in objective.named_parameters() if not torch.equal(p, before[name])}
    assert changed == {name for name in before if "lora_" in name}
    stored = load(save_checkpoint(objective))
    assert {name for name in stored if "lora_" in name} == changed
    assert set(stored) <= changed | {"backbone.model.final_logits_bias"}
    assert objective.fused_head(objective.states(batch(kind))) is not None

    again = HistAlign(adapted(folders[kind]))
    assert not torch.equal(log_probs(again, kind), log_probs(objective, kind))
    load_checkpoint(again, stored, folders[kind])
    assert torch.equal(log_probs(again, kind), log_probs(objective, kind))
    with pytest.raises(StoreError, match="missing"):
        load_checkpoint(again, dict(list(stored.items())[1:]), folders[kind])


@pytest.mark.parametrize("kind", KINDS)
def test_adapters_begin_with_nothing(kind: str, folders: dict[str, Path]) -> None:
    made = [adapted(folders[kind], Texts()), hub(str(folders[kind]), Texts(), 3)]
    first, second = [log_probs(HistAlign(backbone), kind) for backbone in made]
    assert torch.equal(first, second)


def test_layers_by_name(folders: dict[str, Path]) -> None:
    backbone = adapted(folders["gpt2"], lora_targets="c_fc, c_proj", lora_alpha=4, lora_dropout=0.1)
    assert backbone.lora is not None
    assert (backbone.lora.targets, backbone.lora.alpha, backbone.lora.dropout) == ("c_fc,c_proj", 4, 0.1)
    names = {name for name, p in backbone.named_parameters() if p.requires_grad}
    assert names
    assert all("c_fc" in name or "c_proj" in name for name in names)
    with pytest.raises(UsageError, match="names 'q_proj', which GPT2LMHeadModel does not have; its layers are c_attn"):
        adapted(folders["gpt2"], lora_targets="q_proj")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"lora_alpha": 32}, "backbone.lora_alpha is for LoRA, which backbone.lora_rank turns on"),
        ({"lora_targets": "q_proj"}, "backbone.lora_targets is for LoRA"),
        ({"lora_rank": -1}, "at least 0"),
        ({"lora_rank": 2, "lora_dropout": 1.0}, "below 1"),
    ],
)
def test_options_that_say_nothing_are_refused(options: dict[str, Any], says: str, folders: dict[str, Path]) -> None:
    with pytest.raises(UsageError, match=says):
        hub(str(folders["gpt2"]), WORDS, 0, **options)


def test_without_peft_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, folders: dict[str, Path]) -> None:
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(MissingError, match=r"pip install 'objective-bench\[lora\]'"):
        hub(str(folders["gpt2"]), WORDS, 0, lora_rank=2)


def test_options_are_in_a_key_only_where_they_are_used() -> None:
    """Cells that were stored before there were adapters keep their keys."""

    def options(*sets: str) -> dict[str, Any]:
        method, given = find_method("mle"), parse_sets(sets)
        return dict(cell_config(AmbiguousTemplate, method, "gpt2", 0, "paper", given, None, None).backbone_options)

    plain = {"path": "", "revision": "main", "freeze_embeddings": True}
    assert options() == plain
    assert options("backbone.lora_rank=0", "backbone.lora_alpha=16") == plain
    assert options("backbone.lora_rank=8") == {**plain, "lora_rank": 8}
    with pytest.raises(UsageError, match="lora_dropout is for LoRA"):
        options("backbone.lora_dropout=0.1")


def test_a_run_stores_adapters_and_a_child_starts_from_them(
    bench: Bench, folders: dict[str, Path], tmp_path: Path
) -> None:
    pytest.importorskip("peft")
    results = tmp_path / "results"
    given = stores.arguments(results, "--backbone", str(folders["llama"]), task="ambiguous_template", method="face")
    given = [text for text in given if not text.startswith("backbone.")]
    ended = bench(*given, "--set", "backbone.lora_rank=2", "trainer.validate=0.5", "trainer.select=loss")
    assert ended.code == 0, ended.err
    assert len(json.loads(ended.out)["ok"]) == 2
    for path in results.rglob("trained.json"):
        model = json.loads(path.read_text())["content"]["model"]
        assert model["lora"]["targets"] == "q_proj,v_proj"
        assert model["lora"]["merged"] is False
        assert model["trained_parameters"] == 2 * 2 * 2 * (16 + 16)  # layers, projections, rank, widths
        (checkpoint,) = path.parent.glob("model-*")
        assert all("lora_" in name for name in load_file(checkpoint) if name.startswith("backbone."))
        assert checkpoint.stat().st_size < 4 * model["parameters"]


@pytest.mark.parametrize("setting", ["backbone.lora_rank=2", "backbone.freeze_embeddings=true"])
@pytest.mark.parametrize(
    "method", ["trime.released,histalign.released,f2softmax,mtp", pytest.param("all", marks=pytest.mark.slow)]
)
def test_what_is_frozen_stays_under_every_method(
    bench: Bench, folders: dict[str, Path], tmp_path: Path, method: str, setting: str
) -> None:
    """On LogicNLG, whose targets are long enough for all methods."""
    pytest.importorskip("peft")
    before = load_file(next(folders["llama"].glob("*.safetensors")))["model.embed_tokens.weight"]
    given = stores.arguments(tmp_path, "--backbone", str(folders["llama"]), task="logicnlg", method=method)
    given[given.index("small")] = "mid"
    given = [text for text in given if not text.startswith("backbone.")]
    ended = bench(*given, "--set", setting, "trainer.max_target=24", "trainer.max_source=60")
    assert ended.code == 0, ended.err
    assert not json.loads(ended.out)["failed"]
    checkpoints = list(tmp_path.rglob("model-*"))
    assert len(checkpoints) >= len(method.split(","))
    for checkpoint in checkpoints:
        stored = load_file(checkpoint)
        of_the_model = [name for name in stored if name.startswith("backbone.")]
        if "lora" in setting:
            assert of_the_model, checkpoint
            assert all("lora_" in name for name in of_the_model), checkpoint
        else:
            (name,) = [name for name in stored if name.endswith("embed_tokens.weight")]
            assert stored[name][: len(before)].equal(before), checkpoint
            assert len(stored) > 1, checkpoint
