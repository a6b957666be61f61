"""Verifiers by tiny models: what is refused, batches equal to single pairs, order, labels by name, no network."""

import json
import shutil

import pytest
import torch
from transformers import BertForSequenceClassification, BertTokenizer

from bench.metrics.faithfulness.checkpoints import NotApplicable, find
from bench.metrics.faithfulness.factcc import factcc, load_factcc
from bench.metrics.faithfulness.tapas import load_tapas
from bench.metrics.faithfulness.tapex import load_tapex
from bench.metrics.faithfulness.verifiers import batches, label_of, plain_text
from tests.metrics import tiny_verifiers

torch.set_num_threads(1)
LOADERS = {"bert": load_factcc, "tapas": load_tapas, "bart": load_tapex}
HEADS = {"bert": "classifier", "tapas": "classifier", "bart": "classification_head"}
every_kind = pytest.mark.parametrize("kind", LOADERS)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """One folder of each kind."""
    root = tmp_path_factory.mktemp("verifiers")
    for kind in LOADERS:
        (root / kind).mkdir()
        getattr(tiny_verifiers, kind)(root / kind)
    return root


@pytest.fixture
def copy(made, tmp_path):
    return lambda kind: shutil.copytree(made / kind, tmp_path / kind)


@every_kind
def test_a_whole_checkpoint_loads_in_float32(made, kind):
    verifier = LOADERS[kind](str(made / kind))
    assert not verifier.model.training
    assert {weights.dtype for weights in verifier.model.parameters()} == {torch.float32}
    assert verifier.label == (0 if kind == "bert" else 1)
    assert verifier.provenance["checkpoint"] == kind
    assert str(made) not in verifier.signature


@every_kind
def test_a_checkpoint_without_its_head_is_refused(copy, kind):
    folder = tiny_verifiers.without_head(copy(kind), HEADS[kind])
    with pytest.raises(NotApplicable, match=rf"{kind} lacks \d weights, such as {HEADS[kind]}"):
        LOADERS[kind](str(folder))


@every_kind
def test_a_head_of_three_labels_is_refused(copy, kind):
    folder = copy(kind)
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    last = next(name for name in weights if name in ("classifier.weight", "classification_head.out_proj.weight"))
    save_file(weights | {last: torch.zeros(3, weights[last].shape[1])}, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(NotApplicable, match=r"does not load|lacks"):
        LOADERS[kind](str(folder))


@every_kind
def test_what_is_nowhere_is_needed_and_not_downloaded(kind, monkeypatch, tmp_path):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("socket.socket.connect", lambda *a: pytest.fail("asked the network"))
    with pytest.raises(NotApplicable, match=r"needs nobody/no-such-model: bench doctor"):
        LOADERS[kind]("nobody/no-such-model")
    with pytest.raises(NotApplicable, match=r"needs model: bench doctor"):
        LOADERS[kind](str(tmp_path / "no" / "model"))


def test_a_folder_without_weights_says_so(copy):
    folder = copy("bert")
    (folder / "model.safetensors").unlink()
    with pytest.raises(NotApplicable, match=r"bert does not load \(OSError"):
        load_factcc(str(folder))


def test_the_cache_of_the_hub_is_read(made, tmp_path, monkeypatch):
    repository = tmp_path / "models--some--verifier"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("0123456789abcdef", encoding="utf-8")
    shutil.copytree(made / "bert", repository / "snapshots" / "0123456789abcdef")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    assert find("some/verifier") == repository / "snapshots" / "0123456789abcdef"
    found = load_factcc("some/verifier").provenance
    assert (found["checkpoint"], found["revision"]) == ("some/verifier", "0123456789ab")


def test_other_weights_are_another_signature(made, copy):
    folder = copy("bert")
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    save_file(weights | {"classifier.bias": torch.ones(2)}, folder / "model.safetensors", {"format": "pt"})
    assert load_factcc(str(folder)).signature != load_factcc(str(made / "bert")).signature
    again = load_factcc(str(made / "bert")).signature
    assert again == load_factcc(str(made / "bert")).signature


def test_labels_are_found_by_name(copy):
    assert label_of({0: "Refused", 1: "Entailed"}, "entailed", 1) == 1
    assert label_of({0: "ENTAILED", 1: "REFUTED"}, "entailed", 1) == 0
    with pytest.raises(NotApplicable, match="expected a label 'correct'"):
        label_of({0: "LABEL_0", 1: "LABEL_1"}, "correct")
    with pytest.raises(NotApplicable, match="expected a label 'entailed'"):
        label_of({0: "yes", 1: "no"}, "entailed", 1)
    folder = copy("bert")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    swapped = config | {"id2label": {"0": "INCORRECT", "1": "CORRECT"}}
    (folder / "config.json").write_text(json.dumps(swapped), encoding="utf-8")
    assert load_factcc(str(folder)).label == 1


def test_batches_keep_to_the_budget_and_lose_none():
    lengths = [5, 1, 9, 3, 3, 7, 2, 30, 1]
    found = list(batches(lengths, 12))
    assert sorted(i for batch in found for i in batch) == list(range(9))
    assert all(len(batch) == 1 or max(lengths[i] for i in batch) * len(batch) <= 12 for batch in found)
    assert list(batches([], 12)) == []


def test_special_tokens_are_taken_out(made):
    tokenizer = BertTokenizer.from_pretrained(made / "bert")
    assert plain_text("the [SEP]river [CLS]rose", tokenizer) == "the river rose"


def test_every_weight_may_be_in_an_old_file(copy):
    folder = copy("bert")
    model = BertForSequenceClassification.from_pretrained(folder)
    state = {name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): weights
             for name, weights in model.state_dict().items()}  # fmt: skip
    state["bert.embeddings.position_ids"] = torch.arange(512)[None]
    torch.save(state, folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    old = load_factcc(str(folder))
    documents, claims = ["the river rose in the year"] * 4, ["it rose", "it fell", "no one was hurt", "the aldra"]
    for (name, one), two in zip(model.state_dict().items(), old.model.state_dict().values(), strict=True):
        assert torch.equal(one, two), name
    assert len(factcc(documents, claims, old)) == 4
