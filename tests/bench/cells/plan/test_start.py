"""What a run starts from: weights of its parent, vocabularies and vectors, named by content and never by place."""

import hashlib
import json
import re
import shutil

import pytest
import torch

from bench.cells.build import build, start
from bench.cells.cell import described
from bench.cells.plan import make_plan
from bench.cells.record import config_yaml
from bench.cells.work import train_and_evaluate
from bench.config.arguments import RunArguments
from bench.errors import MissingError, StoreError, UsageError
from bench.models.backbones.recurrent.glove import HOW_TO_GET
from bench.store.checkpoints import load_verified
from bench.store.store import TOKENIZER
from bench.tasks import TASKS, TaskEntry
from tests.bench.own import FOCAL
from tests.conftest import forget_data

SHAPE = ("backbone.width=16", "trainer.steps=2", "trainer.batch_size=4", "backbone.embeddings=trained")
pytestmark = pytest.mark.usefixtures("sample_data")


def cells(*sets, method="mle", results="results"):
    """A run, behind those that it needs."""
    given = {"backbone": "small-causal", "limit": 8, "sets": (*SHAPE, *sets), "results": str(results)}
    return make_plan(RunArguments(("ambiguous_template",), (method,), **given)).cells


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A store with the trained parent of `mle.continued`."""
    results = tmp_path_factory.mktemp("parents") / "results"
    with pytest.MonkeyPatch.context() as patch:
        forget_data(patch, results.parent / "no-cache")
        train_and_evaluate(cells(results=results)[0], [])
    return results


# Keys -------------------------------------------------------------------------------------------------------------


def test_where_a_text_lies_is_in_no_key_and_no_record(tmp_path, monkeypatch):
    monkeypatch.setitem(TASKS, "text", TaskEntry("bench.tasks.text:Text", "your own text"))
    lines = [f"{line} " + " ".join(f"w{line * i % 97}" for i in range(60)) for line in range(200)]
    found = []
    for name in ("one.txt", "two.txt", "three.txt"):
        (tmp_path / name).write_text("\n".join(lines if name != "three.txt" else lines[::-1]))
        plan = make_plan(RunArguments(("text",), ("mle",), sets=(f"task.path={tmp_path / name}",), preset="small"))
        found += plan.cells
    one, two, three = found
    assert (one.key, described(one)) == (two.key, described(two))
    assert (list(one.evaluations), one.config == two.config) == (list(two.evaluations), False)
    assert three.key != one.key
    assert str(tmp_path) not in json.dumps(described(one))
    assert f"task.path: {tmp_path / 'two.txt'}" in config_yaml(two)


def test_a_shared_vocabulary_is_named_by_its_content(trained, tmp_path):
    donor = cells(results=trained)[0].folder.path
    shutil.copy(donor / TOKENIZER, tmp_path / "mine.json")
    places = (donor, donor / TOKENIZER, tmp_path / "mine.json")
    found = [cells(f"backbone.tokenizer={place}")[0] for place in places]
    (key,) = {run.key for run in found}
    assert all(str(donor) not in json.dumps(described(run)) for run in found)
    assert cells()[0].key != key
    (tmp_path / "mine.json").write_text((tmp_path / "mine.json").read_text() + "\n")
    assert cells(f"backbone.tokenizer={tmp_path / 'mine.json'}")[0].key != key


def vectors(glove):
    sets = ("backbone.tokens=words", "backbone.tied=false", "backbone.embedding_width=3", f"backbone.glove={glove}")
    (found,) = make_plan(RunArguments(("wikibio",), ("seq2seq",), sets=sets, limit=4)).cells
    return found


def test_word_vectors_are_in_the_key_and_the_record_by_their_content(tmp_path):
    first, second = tmp_path / "one.txt", tmp_path / "two.txt"
    for file in (first, second):
        file.write_bytes(b"the 1 2 3\n")
    one = vectors(first)
    assert described(one)["backbone_options"]["glove"] == hashlib.sha256(b"the 1 2 3\n").hexdigest()
    assert one.key == vectors(second).key
    first.write_bytes(b"the 1 2 30\n")
    assert vectors(first).key != one.key
    with pytest.raises(MissingError, match=f"^backbone.glove names .*no file; the paper's: {re.escape(HOW_TO_GET)}$"):
        vectors(tmp_path / "nowhere.txt")


@pytest.mark.parametrize("where", ["nowhere", "."])
def test_a_vocabulary_that_is_not_there_is_refused(tmp_path, where):
    with pytest.raises(MissingError, match=r"^backbone.tokenizer names '.*', which is no file$"):
        cells(f"backbone.tokenizer={tmp_path / where}")


# Weights of the parent --------------------------------------------------------------------------------------------


def started(run):
    objective, codec = build(run)
    start(objective, run, codec)
    return objective


def test_weights_are_those_of_the_parent(trained):
    parent, child = cells(method="mle.continued", results=trained)
    stored, weights = load_verified(parent.folder, parent.folder.trained()), started(child).state_dict()
    assert all(torch.equal(weights[name], tensor) for name, tensor in stored.items())
    plain = build(child)[0].state_dict()
    assert not all(torch.equal(plain[name], tensor) for name, tensor in stored.items())


def test_what_is_new_is_fitted_and_what_is_not_is_left(trained, monkeypatch):
    fitted = []
    monkeypatch.setattr("bench.models.core.objective.Objective.warm_start", lambda self, batches: fitted.append(self))
    monkeypatch.setattr("bench.models.emo.EMO.warm_start", lambda self, batches: fitted.extend(batches))
    started(cells(method="mle.continued", results=trained)[1])
    assert fitted == []
    started(cells(method="emo", results=trained)[1])
    assert [len(batch["input_ids"]) for batch in fitted] == [4, 4]


def test_classes_are_those_of_the_parent(own, tmp_path):
    """A head of frequency classes only fits with the counts it was made of, whatever the new text is."""
    lines = FOCAL.replace('paper = "', 'parent = "f2softmax"\n    uses_token_counts = True\n    paper = "')
    own.write("my_losses", lines)
    parent, child = cells("finetuned:trainer.limit=4", method="my_losses:Focal", results=tmp_path / "results")
    train_and_evaluate(parent, [])
    prepared = []
    child.method.kind.prepare = lambda self, counts: prepared.append(counts)
    build(child)
    assert torch.equal(prepared[0], load_verified(parent.folder, parent.folder.trained())["counts"])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("backbone.width=32", r"transformer\.h\.0\.attn\.c_attn\.bias' should be \[96\], it has \[48\]"),
        ("backbone.layers=3", r"transformer\.h\.2\.\S+' should be \[.*\], it has nothing"),
        ("backbone.layers=1", r"transformer\.h\.1\.\S+' should be nothing, it has \[.*\]"),
    ],
)
def test_weights_of_another_shape_are_one_clear_line(trained, text, says):
    parent, child = cells(f"mle.continued:{text}", method="mle.continued", results=trained)
    whole = f"^weights of '{parent.folder.path}' do not fit: 'backbone.model.{says}; give both runs the same backbone"
    with pytest.raises(UsageError, match=whole) as error:
        started(child)
    assert "\n" not in str(error.value)


def test_weights_for_another_vocabulary_are_refused(trained, tmp_path):
    """The tables have as many rows; each would stand for another word."""
    file = tmp_path / "mine.json"
    content = json.loads((cells(results=trained)[0].folder.path / TOKENIZER).read_text())
    words = content["model"]["vocab"]
    first, second = list(words)[-2:]
    words[first], words[second] = words[second], words[first]
    file.write_text(json.dumps(content))
    child = cells(f"mle.continued:backbone.tokenizer={file}", method="mle.continued", results=trained)[1]
    with pytest.raises(UsageError, match="do not fit: its tokenizer is another one than that of backbone small-causal"):
        started(child)


@pytest.mark.parametrize("damage", ["missing", "truncated", "empty"])
def test_a_damaged_checkpoint_of_the_parent_is_one_clear_line(trained, tmp_path, damage):
    results = shutil.copytree(trained, tmp_path / "results")
    parent, child = cells(method="mle.continued", results=results)
    (model,) = parent.folder.path.glob("model-*")
    data = model.read_bytes()
    model.unlink()
    if damage != "missing":
        model.write_bytes(data[: len(data) // 2] if damage == "truncated" else b"")
    says = f"^checkpoint '{model}' .*; remove '{parent.folder.path}' and run the same command again"
    with pytest.raises(StoreError, match=says):
        started(child)
