"""A run leaves the suite as a folder of transformers, and a model from outside is evaluated like one of the suite."""

import os
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, models
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast

import bench as suite
from bench.errors import RunError, UsageError
from bench.leaderboards.leaderboards import leaderboards_of
from bench.store.store import Store
from tests.bench.own import FOCAL
from tests.conftest import call, forget_data

OPTIONS = ("--task", "logicnlg", "--limit", "16", "--decode", "greedy", "--set", "trainer.steps=2",
           "trainer.batch_size=4", "task.eval_rows=8")  # fmt: skip
SIZES = (
    "backbone.width=16",
    "backbone.layers=1",
    "backbone.heads=2",
    "backbone.vocabulary=300",
    "--backbone",
    "small-causal",
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three trained runs and the folder `model`, which the first of them was exported to."""
    results = tmp_path_factory.mktemp("results")
    with pytest.MonkeyPatch.context() as patch:
        forget_data(patch, results / "no-cache")
        made = call("run", *OPTIONS, *SIZES, "--method", "mle,histalign,f2softmax", "--results", str(results))
        assert made.code == 0, made.err
        ended = call("store", "export", "logicnlg/mle", str(results / ".model"), "--results", str(results))
    assert (ended.code, ended.err) == (0, "")
    assert "cache" not in ended.out
    return results


def values(results: Path, method: str) -> dict[str, float]:
    """The scores of a method."""
    stored = Store(results)
    frame = suite.Board(stored, leaderboards_of(stored, limited=True)).to_pandas()
    rows = frame[frame["method"] == method]
    return dict(zip(rows["metric"], rows["mean"], strict=True))


def test_a_model_comes_back_with_the_numbers_it_left_with(bench, store) -> None:
    """What transformers loads alone has the scores of the run that it was exported from."""
    folder = store / ".model"
    model, tokenizer = AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    assert model.get_output_embeddings().weight.shape[0] == len(tokenizer) == 300
    ended = bench("evaluate", str(folder), *OPTIONS, "--results", str(store))
    assert ended.code == 0, ended.err
    own, external = values(store, "mle"), values(store, "mle.external")
    assert external
    assert external == pytest.approx({name: own[name] for name in external}, rel=1e-6)


def test_a_model_in_memory_is_evaluated_too(sample_data, store, tmp_path) -> None:
    model = AutoModelForCausalLM.from_pretrained(store / ".model")
    tokenizer = AutoTokenizer.from_pretrained(store / ".model")
    with pytest.raises(UsageError, match="tokenizer"):
        suite.evaluate(model, "logicnlg", results=tmp_path)
    board = suite.evaluate(model, "logicnlg", tokenizer=tokenizer, results=tmp_path, limit=16, decode="greedy",
                           set={"task.eval_rows": 8}, quiet=True)  # fmt: skip
    assert set(board.to_pandas()["method"]) == {"mle.external"}
    assert values(tmp_path, "mle.external") == pytest.approx(values(store, "mle"), rel=1e-6)


def test_what_a_folder_lacks_is_printed_or_refused(bench, store, tmp_path) -> None:
    before = os.umask(0o022)
    cache = bench("store", "export", "logicnlg/histalign", str(tmp_path / "cache"), "--results", str(store))
    os.umask(before)
    assert cache.code == 0, cache.err
    assert "the folder has the head alone" in cache.out
    assert len({path.stat().st_mode for path in (tmp_path / "cache").iterdir()}) == 1, "all can be read by others"
    classes = bench("store", "export", "logicnlg/f2softmax", str(tmp_path / "classes"), "--results", str(store))
    assert classes.code == 2
    assert "does not predict by the head of its model" in classes.err
    again = bench("store", "export", "logicnlg/mle", str(tmp_path / "cache"), "--results", str(store))
    assert "new or empty folder" in again.err
    several = bench("store", "export", "logicnlg", str(tmp_path / "new"), "--results", str(store))
    assert "expected the name of one run" in several.err


def test_a_class_of_the_user_is_exported_while_its_file_is_the_same(bench, own, tmp_path) -> None:
    own.write("my_losses", FOCAL)
    made = bench("run", *OPTIONS, *SIZES, "--method", "my_losses:Focal", "--results", str(tmp_path / "results"))
    assert made.code == 0, made.err
    export = ("store", "export", "logicnlg/focal", "--results", str(tmp_path / "results"))
    ended = bench(*export, str(tmp_path / "folder"))
    assert ended.code == 0, ended.err
    assert AutoModelForCausalLM.from_pretrained(tmp_path / "folder").config.vocab_size == 300
    own.write("my_losses", FOCAL.replace("gamma: float = 2", "gamma: float = 3"))
    changed = bench(*export, str(tmp_path / "other"))
    assert changed.code == 2
    assert "has changed since" in changed.err


def test_adapters_are_merged(bench, store, tmp_path) -> None:
    pytest.importorskip("peft")
    made = bench("run", *OPTIONS, "backbone.lora_rank=2", "backbone.lora_targets=c_attn", "trainer.lr=0.1",
                 "--method", "mle", "--backbone", str(store / ".model"), "--results", str(tmp_path))  # fmt: skip
    assert made.code == 0, made.err
    folder = tmp_path / ".adapted"
    assert bench("store", "export", "logicnlg/mle", str(folder), "--results", str(tmp_path)).code == 0
    before, after = (AutoModelForCausalLM.from_pretrained(each) for each in (store / ".model", folder))
    assert [name for name, _ in before.named_parameters()] == [name for name, _ in after.named_parameters()]
    assert not torch.equal(before.transformer.h[0].attn.c_attn.weight, after.transformer.h[0].attn.c_attn.weight)
    assert bench("evaluate", str(folder), *OPTIONS, "--results", str(tmp_path)).code == 0
    assert values(tmp_path, "mle.external") == pytest.approx(values(tmp_path, "mle"), rel=1e-5)


def test_two_models_of_one_class_are_two_rows(sample_data, store, tmp_path) -> None:
    """A row is decided by the weights: a folder that is trained on and evaluated again is another row."""
    tokenizer = AutoTokenizer.from_pretrained(store / ".model")
    given = {"limit": 16, "decode": "greedy", "set": {"task.eval_rows": 8}, "quiet": True, "results": tmp_path}
    for scale in (1.0, 1.5):
        model = AutoModelForCausalLM.from_pretrained(store / ".model")
        model.get_output_embeddings().weight.data.mul_(scale)
        suite.attach(model, "simctg")  # whose folder has a counter of steps too, which nothing predicts by
        model.save_pretrained(tmp_path / ".same")
        tokenizer.save_pretrained(tmp_path / ".same")
        board = suite.evaluate(str(tmp_path / ".same"), "logicnlg", **given)
    frame = board.to_pandas()
    assert (frame["metric"] == "ppl/word").sum() == 2


def test_what_is_no_whole_model_is_refused(sample_data, store, tmp_path) -> None:
    model, tokenizer = (each.from_pretrained(store / ".model") for each in (AutoModelForCausalLM, AutoTokenizer))
    suite.attach(model, "histalign")
    with pytest.raises(UsageError, match="attached objective"):
        suite.evaluate(model, "logicnlg", tokenizer=tokenizer, results=tmp_path)
    suite.attach(suite.detach(model), "face").save_pretrained(tmp_path / "attached")
    tokenizer.save_pretrained(tmp_path / "attached")
    with pytest.raises(RunError, match=r"objective_state\.frequency.*bench\.detach"):
        suite.evaluate(tmp_path / "attached", "logicnlg", results=tmp_path, limit=16)
    with pytest.raises(UsageError, match="without weights"):
        suite.evaluate("small-causal", "logicnlg", results=tmp_path)
    with pytest.raises(UsageError, match="expected a folder"):
        suite.evaluate(tmp_path / "missing", "logicnlg", results=tmp_path)
    with pytest.raises(UsageError, match="method="):
        suite.evaluate(str(store / ".model"), "logicnlg", method="mle", results=tmp_path)


def test_marker_tokens_with_random_vectors_are_refused(bench, store, tmp_path) -> None:
    AutoModelForCausalLM.from_pretrained(store / ".model").save_pretrained(tmp_path / "plain")
    words = {f"w{number}": number for number in range(298)} | {"<s>": 298, "</s>": 299}
    backend = Tokenizer(models.WordLevel(words, unk_token="w0"))
    made = PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>", eos_token="</s>", pad_token="</s>")
    made.save_pretrained(tmp_path / "plain")
    ended = bench("evaluate", str(tmp_path / "plain"), *OPTIONS, "task.style=plog", "--results", str(tmp_path))
    assert ended.code == 1
    assert "marker tokens that this model lacks" in ended.err
