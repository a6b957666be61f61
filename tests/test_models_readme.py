"""models/README.md is true: its classes keep to the contract, its commands are commands, its table is the list."""

from __future__ import annotations

import importlib
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pytest
import torch

from bench.base.options import Range, coerce, fill_together
from bench.cli import parser
from bench.config.resolve import find_method
from bench.errors import UsageError
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

ANNOTATIONS = re.findall(r"^\| (`.*`) \| (.*) \|$", PAGE.split("## Options")[1].split("## ")[0], re.MULTILINE)
EXAMPLES = {
    "bool": ("true", "maybe"),
    "int": ("3", "3.5"),
    "str": ("x", None),
    "float": ("0.5", "nan"),
    "Annotated[float, Range(0)]": ("0", "-0.1"),
    "Annotated[float, Range(above=0)]": ("0.1", "0"),
    "Annotated[float, Range(0, 1)]": ("1", "1.1"),
    "Annotated[float, Range(0, below=1)]": ("0.9", "1"),
    'Literal["sum", "mean"]': ("sum", "means"),
    "float | None": ("none", "inf"),
    "Sequence[int]": ("1, 2", "1, x"),
}


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
    examples = ["focal", "focal_gamma", "focal_fast", "prior", "frequency_penalty", "balance", "z_loss", "truncation"]
    assert list(FILES) == [*examples, "rdrop", "self_critical", "contrastive", "focal_tuned", "tempered"]
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
    assert excused == {"balance", "truncation"}
    assert method_of("contrastive:Contrastive").kind.second == "mle"  # type: ignore[union-attr]


@pytest.mark.parametrize("case", [0, 1])
def test_its_contrastive_decoding_has_the_golden_scores(written: Own, case: int) -> None:
    """Those of Li et al.: alpha 0.1, amateur at temperature 0.5."""
    contrast = importlib.import_module("contrastive").contrast
    with np.load(ROOT / "tests" / "golden" / "modern" / f"contrastive_decoding_{case}.npz") as golden:
        expert, amateur = (torch.from_numpy(golden[name]).double() for name in ("expert", "amateur"))
        wanted, tokens = torch.from_numpy(golden["li2023"]), golden["li2023_token"].tolist()
    scores = contrast(expert.log_softmax(1), amateur, 0.1, 0.5)
    torch.testing.assert_close(scores, wanted, rtol=1e-12, atol=1e-12)
    assert scores.argmax(1).tolist() == tokens


def test_its_ranges_are_checked(written: Own) -> None:
    """In Python as in a plan, in the words of the page."""
    says = re.findall(r"end with `(method 'focal_gamma'.*?)`", PAGE, re.DOTALL)[0].replace("\n", " ")
    method = method_of("focal_gamma:FocalGamma")
    with pytest.raises(UsageError) as given:
        method.kind(None, gamma=-1)  # type: ignore[call-arg, arg-type]
    with pytest.raises(UsageError) as typed_in:
        fill_together(method.kind, {"gamma": "-1"}, "method 'focal_gamma'")
    assert str(given.value) == str(typed_in.value) == says


@pytest.mark.parametrize(("annotations", "words"), ANNOTATIONS)
def test_its_annotations_are_what_it_says(annotations: str, words: str) -> None:
    """Each row of the table takes what its words say, and refuses another value."""
    names = {"Annotated": Annotated, "Literal": Literal, "Range": Range, "Sequence": Sequence}
    for annotation in re.findall(r"`(.*?)`", annotations.replace("\\", "")):
        taken, refused = EXAMPLES[annotation]
        coerce(taken, eval(annotation, names), "x")
        if refused is not None:
            with pytest.raises(UsageError):
                coerce(refused, eval(annotation, names), "x")


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
