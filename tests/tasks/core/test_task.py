"""Task: what every task does with its rows: tokenizers, prompts, exemplars and the loaders of a training."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Annotated

import pytest

from bench.base.options import Range
from bench.errors import UsageError
from bench.tasks.core.example import Example
from bench.tasks.core.task import LoaderConfig, Task, TaskInfo
from bench.tasks.encode.batches import Order
from bench.tasks.encode.codec import Codec
from bench.tasks.fetch.sources import Source

INFO = TaskInfo(
    source="", licence="", sizes={}, evaluations=("likelihood", "generation"), metrics=(), fields=frozenset({"words"})
)
ROWS = {
    "train": [("rain in oslo", "wet"), ("snow in oslo", "white"), ("sun in rome", "hot"), ("rain in rome", "wet")],
    "test": [("rain in bergen", "wet too"), ("sun in rome today", "hot"), ("snow in oslo", "white")],
}


class Toy(Task):
    """A few rows."""

    name = "toy"
    info = INFO
    recipes = {}

    def __init__(self, rows=ROWS):
        super().__init__()
        self.rows = rows
        self.load(Source(None, "test"))

    def read(self, folder, split):
        raise NotImplementedError

    def sample(self, split):
        return [Example(f"{split}{i}", source, target) for i, (source, target) in enumerate(self.rows[split])]


class Open(Toy):
    """Text that goes on."""

    info = replace(INFO, open_ended=True)
    ends = False

    def prompt_and_rest(self, example):
        words = example.target.split()
        return " ".join(words[:2]), " ".join(words[2:])


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path))
    return tmp_path


def codec(task, architecture="encoder-decoder", tokenizer=None, **limits):
    limits = {"max_source": 50, "max_target": 50, **limits}
    return Codec(tokenizer or task.word_tokenizer(100), architecture, **limits)


def texts(found, ids):
    return found.tokenizer.decode(ids, skip_special_tokens=True)


# Fields and sizes -------------------------------------------------------------------------------------------------


def test_tokenizers_learn_from_the_sources_and_targets_of_the_training_rows():
    task = Toy()
    assert list(task.training_texts()) == ["rain in oslo", " wet", "snow in oslo", " white", "sun in rome", " hot",
                                     "rain in rome", " wet"]  # fmt: skip
    words = set(task.word_tokenizer(100).get_vocab())
    assert {"rain", "white", "hot"} <= words
    assert not {"bergen", "today"} & words
    assert len(task.word_tokenizer(7)) == 7
    assert len(task.tokenizer(300)) <= 300


# Rows -------------------------------------------------------------------------------------------------------------


LONG = {"train": [("", "the sun is in rome"), ("", "rain in oslo")]}


def test_open_ended_rows_are_learned_whole_and_continued_from_their_prompt():
    task = Open(LONG)
    found, rows = codec(task, "decoder-only"), task.split("train").examples
    whole, split = task.encode(rows, found), task.encode(rows, found, prompts=True)
    assert [(texts(found, row.source), texts(found, row.target)) for row in whole] == [
        ("", "the sun is in rome"), ("", "rain in oslo")]  # fmt: skip
    assert [(texts(found, row.source), texts(found, row.target)) for row in split] == [
        ("the sun", "is in rome"), ("rain in", "oslo")]  # fmt: skip
    assert [len(row.source) for row in whole] == [1, 1]
    assert [row.source + row.target for row in split] == [row.source + row.target for row in whole]


def test_a_row_is_encoded_the_same_whatever_rows_are_near_it():
    task = Toy({**ROWS, "test": [("", "wet"), *ROWS["test"]]})
    rows, found = task.split("test").examples, codec(task, "decoder-only", task.tokenizer(300))
    assert task.encode(rows[:1], found) == task.encode(rows, found)[:1]
    assert [texts(found, row.target) for row in task.encode(rows[:2], found)] == [" wet", " wet too"]


# Exemplars --------------------------------------------------------------------------------------------------------


def test_an_exemplar_is_the_target_of_the_nearest_other_training_row():
    task = Toy()
    assert task.exemplars("train") == {"train0": "white", "train1": "wet", "train2": "wet", "train3": "wet"}
    assert task.exemplars("test") == {"test0": "wet", "test1": "hot", "test2": "wet"}  # its own source is excluded


def test_equal_targets_may_be_excluded_in_training_only():
    """Looking at a test row's target would give it away."""
    task = Toy()
    assert task.exemplars("train", False)["train3"] == "hot"
    assert task.exemplars("test", False) == task.exemplars("test")


def test_a_swapped_exemplar_is_another_rows_and_leaves_the_rest_alone():
    task = Toy({**ROWS, "test": [("rain in oslo x", ""), ("snow in oslo x", ""), ("sun in rome x", "")]})
    own, swapped = task.exemplars("test"), task.exemplars("test", swap=True)
    assert sorted(own.values()) == sorted(swapped.values()) == ["hot", "wet", "white"]
    assert all(own[name] != swapped[name] for name in own)
    assert task.exemplars("test") == own


def test_rows_carry_the_exemplars_they_are_given_and_no_others():
    task = Toy()
    found, rows = codec(task, max_target=1), task.split("train").examples
    encoded = task.encode(rows, found, exemplars={**task.exemplars("train"), "train0": "sun in rome", "train1": ""})
    assert [texts(found, row.exemplar) for row in encoded] == ["sun", "", "wet", "wet"]
    assert {row.exemplar[-1] for row in encoded} == {found.tokenizer.eos_token_id}
    assert {row.exemplar for row in task.encode(rows, found)} == {None}
    with pytest.raises(KeyError):
        task.encode(rows, found, exemplars={})


def test_a_leak_is_told_and_what_is_even_is_not():
    twice = [(f"story {i} of {i % 7}", f"target {i // 2}") for i in range(40)]
    told = [(f"told {source}", target) for source, target in twice[::2]]
    leaking = Toy({"train": [*twice, *((f"{source} again", target) for source, target in twice)],
                   "test": [(f"other {i}", f"new {i}") for i in range(20)]})  # fmt: skip
    alarm = leaking.exemplar_leak("test")
    assert alarm is not None
    assert alarm.startswith("exemplars leak: they are the gold target of ")
    assert leaking.exemplar_leak("test", equal_targets=False) is None
    even = Toy({"train": leaking.rows["train"], "test": told})
    assert even.exemplar_leak("test") is None


# The loaders ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("read", [False, True])
def test_a_training_is_fed_with_exemplars_where_they_are_read(read):
    task = Toy()
    found, exemplars = codec(task), task.exemplars("train") if read else None
    task.setup_run(LoaderConfig(found, batch=3, exemplars=lambda split: exemplars))
    task.trainer = SimpleNamespace(global_rank=0, world_size=1, accumulate_grad_batches=2, global_step=0)
    epochs = task.train_dataloader()
    batches = list(epochs)
    task.trainer.global_step = 1  # 4 rows are one step of 3, rounded: the second epoch goes on where the first ended
    batches += list(epochs)
    assert [(b["step"], b["step_rows"], len(b["input_ids"])) for b in batches] == [
        (0, 3, 2), (0, 3, 1), (1, 3, 2), (1, 3, 1)]  # fmt: skip
    assert all(("exemplar_ids" in batch) == read for batch in batches)
    if read:
        rows = [row for step in (0, 1) for row in Order(4, 3, 0).step(step).tolist()]
        told = [texts(found, ids) for batch in batches for ids in batch["exemplar_ids"]]
        assert told == [exemplars[f"train{i}"] for i in rows]


def test_options_of_a_users_task_are_checked_before_it_is_made():
    class Sized(Toy):
        name = "sized"

        def __init__(self, *, rows: Annotated[int, Range(1)] = 4, ratio=0.5):
            super().__init__()
            self.rows = rows

        @classmethod
        def check_options(cls, options):
            if options["ratio"] * options["rows"] < 1:
                raise UsageError("task.ratio leaves no row")

    assert Sized(rows=2).given == {"rows": 2}
    for options, says in (
        ({"rows": 0}, "^task 'sized' option 'rows' must be at least 1, not 0$"),
        ({"rows": "x"}, "^task 'sized' option 'rows' must be a whole number, not 'x'$"),
        ({"ratio": float("nan")}, "^task 'sized' option 'ratio' must be a finite number, not 'nan'$"),
        ({"row": 4}, "^task 'sized' has no option 'row'; did you mean 'rows'\\?$"),
        ({"rows": 1}, "^task.ratio leaves no row$"),
    ):
        with pytest.raises(UsageError, match=says):
            Sized(**options)
