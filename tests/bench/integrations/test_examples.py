"""The examples of docs/examples train a tiny model and leave a folder that transformers loads."""

import json
import runpy
import sys
from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast

from tests.bench.integrations.trainers import VOCABULARY, llama

pytest.importorskip("accelerate")
EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model with a tokenizer of whole words."""
    folder = tmp_path_factory.mktemp("model")
    words = ["<pad>", "<s>", "</s>", *(f"w{number}" for number in range(VOCABULARY - 3))]
    backend = Tokenizer(models.WordLevel({word: at for at, word in enumerate(words)}, unk_token="w0"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()  # type: ignore[assignment]
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, pad_token="<pad>", bos_token="<s>", eos_token="</s>")
    tokenizer.save_pretrained(folder)
    llama().save_pretrained(folder)
    return folder


@pytest.mark.filterwarnings("default")  # the libraries warn of their own defaults
@pytest.mark.parametrize("name", ["hf_trainer", "trl_sft", "plain_loop"])
def test_it_trains_and_saves(name: str, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "trl_sft":
        pytest.importorskip("trl")
    rows = tmp_path / "rows.jsonl"
    lines = [{"prompt": f"w{n} w{n + 1}", "completion": f"w{n + 2} w{n} w{n + 3}"} for n in range(1, 30)]
    rows.write_text("".join(json.dumps(line) + "\n" for line in lines * 3))
    monkeypatch.setattr(sys, "argv", [name, str(rows), str(tmp_path / "out"), str(model)])
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(EXAMPLES / f"{name}.py"))
    before, after = (AutoModelForCausalLM.from_pretrained(each) for each in (model, tmp_path / "out"))
    assert type(after).__name__ == "LlamaForCausalLM"
    assert not before.model.layers[0].mlp.up_proj.weight.equal(after.model.layers[0].mlp.up_proj.weight)
