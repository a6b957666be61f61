"""Starts: weights and vocabulary of another cell, named by what they are and never by where they lie."""

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
from bench.store.store import TOKENIZER, CellFolder
from bench.tasks import TASKS, TaskEntry
from bench.tasks.encode.codec import tokenizer_hash
from tests.conftest import TINY, call, forget_data

AMBIGUOUS, TABLES = "ambiguous_template", "logicnlg"
SHAPE = ("backbone.width=16", "trainer.steps=2", "trainer.batch_size=4", "backbone.embeddings=trained")
pytestmark = pytest.mark.usefixtures("sample_data")


def only(folder):
    """The cell folder of a store that holds one."""
    (found,) = folder.glob("*/*/*/trained.json")
    return found.parent


@pytest.fixture(scope="module")
def donors(tiny_store, tmp_path_factory):
    """Two trained cells that differ in their seed."""
    folder = tmp_path_factory.mktemp("donors")
    with pytest.MonkeyPatch.context() as patch:
        forget_data(patch, folder / "no-cache")
        assert call(*TINY, "--seeds", "1", "--results", str(folder / "results")).code == 0
    return only(tiny_store), only(folder / "results")


def cell(*sets, task=AMBIGUOUS, method="mle", results="results", **others):
    others = {"backbone": "small-causal", "limit": 8, "preset": "small", **others}
    plan = make_plan(RunArguments((task,), (method,), sets=(*SHAPE, *sets), results=str(results), **others))
    return plan.cells[-1]


def from_donor(folder, *sets, **others):
    return cell(f"trainer.init_from={folder}", *sets, **others)


def hash_of(folder):
    return CellFolder(folder).trained()["model"]["checkpoint_sha256"]


# Keys -------------------------------------------------------------------------------------------------------------


def test_the_key_is_of_the_checkpoint_and_not_of_the_place(donors, tmp_path, monkeypatch):
    shutil.copytree(donors[0], tmp_path / "moved" / "elsewhere")
    right = from_donor(donors[0])
    monkeypatch.chdir(tmp_path / "moved")
    assert from_donor("elsewhere").key == from_donor(tmp_path / "moved/../moved/elsewhere").key == right.key
    assert from_donor(donors[1]).key != right.key
    assert cell().key not in (right.key, from_donor(donors[1]).key)


def test_a_place_is_in_no_record(donors, tmp_path):
    shutil.copytree(donors[0], tmp_path / "moved")
    tokenizer = f"backbone.tokenizer={donors[0] / TOKENIZER}"
    for found in (from_donor(donors[0]), from_donor(tmp_path / "moved")):
        assert described(found) == described(from_donor(donors[0]))
        assert described(found)["trainer"]["init_from"] == hash_of(donors[0])
        assert "moved" not in json.dumps(described(found))
    assert str(donors[0]) not in json.dumps(described(cell(tokenizer)))
    assert f"trainer.init_from: {tmp_path / 'moved'}" in config_yaml(from_donor(tmp_path / "moved"))


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


def test_a_shared_vocabulary_is_named_by_its_content(donors, tmp_path):
    shutil.copy(donors[0] / TOKENIZER, tmp_path / "mine.json")
    right = cell(f"backbone.tokenizer={donors[0]}")
    assert cell(f"backbone.tokenizer={donors[0] / TOKENIZER}").key == right.key
    assert cell(f"backbone.tokenizer={tmp_path / 'mine.json'}").key == right.key
    assert cell().key != right.key
    (tmp_path / "mine.json").write_text((tmp_path / "mine.json").read_text() + "\n")
    assert cell(f"backbone.tokenizer={tmp_path / 'mine.json'}").key != right.key


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


# What is taken over -----------------------------------------------------------------------------------------------


def started(found):
    objective, codec = build(found)
    start(objective, found, codec)
    return objective, codec


@pytest.mark.parametrize("task", [AMBIGUOUS, TABLES])
def test_weights_and_vocabulary_are_those_of_the_donor(donors, task):
    donor = CellFolder(donors[0])
    found = from_donor(donor.path, "backbone.context=64", task=task)
    objective, codec = started(found)
    held = load_verified(donor, donor.trained())
    assert all(torch.equal(objective.state_dict()[name], tensor) for name, tensor in held.items())
    assert tokenizer_hash(codec.tokenizer) == donor.trained()["model"]["tokenizer_sha256"]
    plain, own = build(cell("backbone.context=64", task=task))
    assert (own.tokenizer.get_vocab() == codec.tokenizer.get_vocab()) == (task == AMBIGUOUS)
    if task == AMBIGUOUS:
        assert not all(torch.equal(plain.state_dict()[name], tensor) for name, tensor in held.items())


def test_a_cell_that_starts_from_another_is_trained_and_says_so(donors, tmp_path):
    found = from_donor(donors[0], "trainer.lr=0", results=tmp_path, method="trime")
    train_and_evaluate(found, list(found.evaluations))
    record = found.folder.trained()
    assert record["start"]["key"] == donors[0].name
    assert record["start"]["config"]["method"] == "mle"
    assert record["start"]["start"] is None
    assert str(donors[0]) not in json.dumps(record)
    held = load_verified(found.folder, record)
    donor = load_verified(CellFolder(donors[0]), CellFolder(donors[0]).trained())
    assert all(torch.equal(held[name], tensor) for name, tensor in donor.items())
    assert all(found.folder.rows(key) is not None for key in found.evaluations)


def test_what_is_new_is_fitted_and_what_is_not_is_left(donors, monkeypatch):
    fitted = []
    monkeypatch.setattr("bench.models.core.objective.Objective.warm_start", lambda self, batches: fitted.append("base"))
    monkeypatch.setattr("bench.models.f2softmax.F2Softmax.warm_start", lambda self, batches: fitted.extend(batches))
    started(from_donor(donors[0]))
    assert fitted == []
    started(from_donor(donors[0], method="f2softmax"))
    assert [len(batch["input_ids"]) for batch in fitted] == [4, 4]
    fitted.clear()
    started(cell(method="f2softmax"))
    assert fitted == []


def test_classes_are_those_of_the_cell_it_starts_from(donors, tmp_path):
    """A head of frequency classes only fits with the counts it was made of, whatever the new text is."""
    first = cell(method="f2softmax", results=tmp_path / "first", limit=16)
    train_and_evaluate(first, [])
    counts = load_verified(first.folder, first.folder.trained())["counts"]
    others = {"method": "f2softmax", "task": TABLES}
    objective, codec = started(from_donor(first.folder.path, "backbone.context=64", **others))
    assert torch.equal(objective.counts, counts)
    alone, _ = build(cell("backbone.context=64", f"backbone.tokenizer={first.folder.path}", **others))
    assert not torch.equal(alone.counts, counts)


# What is refused --------------------------------------------------------------------------------------------------


def copied(donor, folder, **changes):
    """A copy of a cell with other content in its record."""
    path = shutil.copytree(donor, folder)
    content = {**CellFolder(path).trained(), **changes}
    (path / "trained.json").unlink()
    CellFolder(path).write_trained({k: v for k, v in content.items() if v is not None}, {})
    return path


@pytest.mark.parametrize("changes", [None, {"status": "diverged"}, {"model": None}], ids=["empty", "diverged", "text"])
def test_what_is_no_trained_cell_is_refused(donors, tmp_path, changes):
    path = tmp_path / "donor"
    _ = path.mkdir() if changes is None else copied(donors[0], path, **changes)
    with pytest.raises(MissingError) as found:
        from_donor(path)
    assert str(found.value).startswith(f"trainer.init_from names '{path}', which is no trained run; it should be a ")
    assert "\n" not in str(found.value)


@pytest.mark.parametrize("where", ["nowhere", "."])
def test_a_vocabulary_that_is_not_there_is_refused(tmp_path, where):
    with pytest.raises(MissingError, match=r"^backbone.tokenizer names '.*', which is no file$"):
        cell(f"backbone.tokenizer={tmp_path / where}")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("backbone.width=32", r"transformer\.h\.0\.attn\.c_attn\.bias' should be \[96\], it has \[48\]"),
        ("backbone.layers=3", r"transformer\.h\.2\.\S+' should be \[.*\], it has nothing"),
        ("backbone.layers=1", r"transformer\.h\.1\.\S+' should be nothing, it has \[.*\]"),
        ("backbone.context=32", r"transformer\.wpe\.weight' should be \[32, 16\], it has \[64, 16\]"),
    ],
)
def test_weights_of_another_shape_are_one_clear_line(donors, text, says):
    found = from_donor(donors[0], text)
    whole = f"^weights of '{donors[0]}' do not fit: 'backbone.model.{says}; give both runs the same backbone and vocab"
    with pytest.raises(UsageError, match=whole) as error:
        started(found)
    assert "\n" not in str(error.value)


def test_weights_for_another_vocabulary_are_refused(donors, tmp_path):
    """The tables have as many rows; each would stand for another word."""
    file = tmp_path / "mine.json"
    content = json.loads((donors[0] / TOKENIZER).read_text())
    words = content["model"]["vocab"]
    first, second = list(words)[-2:]
    words[first], words[second] = words[second], words[first]
    file.write_text(json.dumps(content))
    found = from_donor(donors[0], f"backbone.tokenizer={file}")
    with pytest.raises(
        UsageError, match=r"do not fit: its tokenizer is another one than that of backbone small-causal"
    ):
        started(found)


@pytest.mark.parametrize("method", ["mle", "f2softmax"])
@pytest.mark.parametrize("damage", ["missing", "truncated", "empty"])
def test_a_damaged_checkpoint_of_the_donor_is_one_clear_line(donors, tmp_path, damage, method):
    path = shutil.copytree(donors[0], tmp_path / "donor")
    (model,) = path.glob("model-*")
    data = model.read_bytes()
    model.unlink()
    if damage != "missing":
        model.write_bytes(data[: len(data) // 2] if damage == "truncated" else b"")
    with pytest.raises(StoreError, match=f"^checkpoint '{model}' .*; remove '{path}' and run the same command again"):
        started(from_donor(path, method=method))
