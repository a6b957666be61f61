"""models/README.md is true: its classes keep to the contract, its commands are commands, its table is the list."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from bench.cli import parser
from bench.config.resolve import find_method
from bench.models import METHODS
from bench.models.core.objective import Objective
from bench.testing import CHECKS, check_objective
from bench.testing.contract import NAMES
from bench.testing.method_of import method_of
from tests.bench.own import Own

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "models" / "README.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"```python\n# (\w+)\.py\n(.*?)```", PAGE, re.DOTALL))
CLASSES = {name: re.findall(r"^class (\w+)\(", text, re.MULTILINE) for name, text in FILES.items()}


@pytest.fixture
def written(own: Own) -> Own:
    """The page's files where they can be imported."""
    for name, text in FILES.items():
        own.write(name, text)
    return own


def test_it_begins_with_the_simplest_one() -> None:
    assert PAGE.startswith("# Your own objective\n\n## The simplest possible objective\n\n```python\n# focal.py\n")
    lines = [line for line in FILES["focal"].splitlines() if line.strip()]
    assert len(lines) <= 10
    assert list(FILES) == ["focal", "focal_gamma", "focal_fast", "prior", "balance", "focal_tuned"]
    assert all(len(names) == 1 for names in CLASSES.values())


@pytest.mark.parametrize("name", FILES)
def test_its_classes_keep_to_the_contract(written: Own, name: str) -> None:
    report = check_objective(f"{name}:{CLASSES[name][0]}", backbones=["small-causal"], quick=True)
    assert report.ok, str(report)


def test_what_it_says_of_its_classes_is_so(written: Own) -> None:
    kinds = {name: method_of(f"{name}:{CLASSES[name][0]}").kind for name in FILES}
    assert kinds["focal_fast"].head_loss is not Objective.head_loss  # type: ignore[union-attr]
    assert method_of("focal_tuned:FocalTuned").parent == "mle"
    excused = {name for name, kind in kinds.items() if not kind.batch_invariant}  # type: ignore[union-attr]
    assert excused == {"balance"}


COMMANDS = re.findall(r"^bench .*$", PAGE, re.M)


@pytest.mark.parametrize("command", COMMANDS)
def test_its_commands_are_commands(command: str) -> None:
    parser().parse_args(shlex.split(command)[1:])


def test_its_first_method_is_found_as_a_file(written: Own) -> None:
    """From a folder where the module is not importable, as the page types it."""
    by_file = find_method(f"{written.folder}/focal.py:Focal")
    assert (by_file.name, by_file.code) == ("focal", find_method("focal:Focal").code)


def test_there_are_commands() -> None:
    assert len(COMMANDS) >= 5


def test_the_table_is_the_list_of_checks() -> None:
    rows = re.findall(r"^\| `([a-z0-9-]+)` \| ([^|]*) \|$", PAGE, re.MULTILINE)
    assert rows == [(check.name, check.says) for check in (NAMES, *CHECKS)]


def test_the_files_it_points_at_are_there() -> None:
    for file in set(re.findall(r"\((\w+\.py)\)", PAGE)):
        assert (ROOT / "models" / file).is_file()
    assert (ROOT / "tests" / "bench" / "mutations.py").is_file()
    assert "continued" in (METHODS["mle"].variants or {})
