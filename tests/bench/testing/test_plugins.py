"""Tasks, metrics, backbones and decodings: every built-in one passes `bench check`, and wrong ones are caught."""

import itertools
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from bench.config.decoding import parse
from bench.decodings import DECODINGS
from bench.decodings.core.decoding import Decoding
from bench.models.backbones import find_backbone
from bench.tasks import TASKS
from bench.tasks.fetch.sources import Source
from bench.testing import BACKBONES, Result, check_backbone, check_decoding, check_task
from tests.bench.plugin_files import FILES, write
from tests.conftest import call

SAMPLE = Source(None, "built-in sample")
DECODED = "greedy,beam=3,beam=3+gnmt=1.0,topk=3,nucleus=0.8,sample,min_p=0.1,typical=0.9,"
DECODED += "contrastive_search=3,topk=5+repetition_penalty=1.3"


# Built-ins --------------------------------------------------------------------------------------------------------


def assert_passes(results: Iterable[Result]) -> None:
    failed = [str(result) for result in results if not result.ok]
    assert not failed


@pytest.mark.parametrize("name", TASKS)
def test_every_built_in_task_passes(name: str) -> None:
    assert_passes(check_task(TASKS[name].load(), SAMPLE, {}))


@pytest.mark.parametrize("name", ["small-causal", "small-encdec", "bilstm", "f2-decoder"])
def test_the_built_in_backbones_pass(name: str) -> None:
    assert_passes(check_backbone(find_backbone(name), (), quick=True))


@pytest.mark.parametrize(
    ("decoding", "backbone"), list(zip(parse(DECODED), itertools.cycle(BACKBONES), strict=False)), ids=str
)
def test_every_built_in_decoding_passes(decoding: Decoding, backbone: str) -> None:
    assert_passes(check_decoding(decoding, [backbone]))


def test_every_decoding_is_among_those_that_are_checked() -> None:
    assert {decoding.name for decoding in parse(DECODED)} == set(DECODINGS)


def test_the_options_of_a_task_reach_it(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(f'{{"source": "a {i}", "target": "b {i}"}}\n' for i in range(60)))
    (result,) = check_task(TASKS["pairs"].load(), SAMPLE, {"path": str(path)})
    assert (result.state, "60" in result.detail) == ("passed", False)  # its three splits have 60 rows together


# Plug-ins, by the command -----------------------------------------------------------------------------------------

ALL = ("towns.py:Towns", "shouts.py:shouts", "tiny.py:tiny", "soft.py:Soft", "top_a.py:TopA=0.2")


def checked(names: Sequence[str], folder: Path) -> tuple[int, str]:
    sys.path.append(str(folder))
    ended = call("check", *names, "--quick", "--backbone", "small-causal")
    return ended.code, ended.out


def test_plugins_of_all_kinds_pass(files: Path) -> None:
    code, printed = checked(ALL, files)
    assert code == 0, printed
    assert [line.partition(": ")[0] for line in printed.splitlines() if line.startswith(ALL)] == list(ALL)


SCORE, CHANGED = "return [score]", "return [__import__('dataclasses').replace(score, {})]"


@pytest.mark.parametrize(
    ("file", "old", "new", "check", "says"),
    [
        ("towns", 'f"{split}/{n}", f"{split} land', 'f"{split}/{n % 5}", f"{split} land', "rows", "each id once"),
        ("towns", '"{split} land', '"land', "rows", "at most 10% of test rows in training; got 100%"),
        ("towns", 'f"town {n % 7}!"', "str(__import__('time').perf_counter_ns())", "rows", "the same rows each time"),
        ("towns", 'is", town,', 'is", 7,', "rows", "ids and targets that are texts"),
        ("shouts", "ordered(rows, gold)", "rows", "every-row", "a ValueError where a row is missing"),
        ("shouts", "higher_is_better=True", "higher_is_better=False", "columns", "the entry's direction of 'shouts'"),
        ("shouts", 'score_of_sums("shouts"', 'score_of_sums("shout"', "columns", "a column that the entry names"),
        ("shouts", SCORE, CHANGED.format("value=len(rows[0]['text']), sums=None"), "every-row", "in any order"),
        ("shouts", SCORE, CHANGED.format("value=score.value + 1"), "columns", "the sums of 'shouts' to give"),
        ("shouts", SCORE, CHANGED.format("value=1e999, sums=None"), "columns", "or None and a reason; got inf"),
        ("shouts", SCORE, CHANGED.format("value=None, sums=None"), "columns", "or None and a reason; got None"),
        ("tiny", "torch.manual_seed(seed)", "torch.manual_seed(0)", "seeded", "other weights of another seed"),
        ("tiny", "seed, *, width", "seed, width", "seeded", "make options keyword-only"),
        ("soft", "return (1", "return -(1", "overfit", "look at the sign of each term"),
        ("top_a", "probs >=", "probs > 9 +", "independent", "IndexError"),
    ],
)
def test_a_wrong_plug_in_is_caught(files: Path, file: str, old: str, new: str, check: str, says: str) -> None:
    assert old in FILES[file]
    write(files, file, FILES[file].replace(old, new))
    code, printed = checked([name for name in ALL if name.startswith(f"{file}.py")], files)
    failed = [line for line in printed.splitlines() if line.startswith(f"FAILED  {check}")]
    assert (code, len(failed)) == (1, 1), printed
    assert says in failed[0]
