"""`bench new method`: a class, its line in the list and its test, which pass at once and are then changed."""

from __future__ import annotations

import argparse
import ast
import importlib.util
import keyword
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.base.entries import all_names
from bench.errors import UsageError
from bench.models import ALIASES, METHODS

NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
"""What is a file, a module and a method name alike."""

PROJECT = 'name = "objective-bench"'

CLASS = '''"""{kind}: one line on what it is."""

from __future__ import annotations

from typing import Annotated, ClassVar

import torch
from torch import Tensor

from bench.base.options import Range
from bench.models.backbones.backbone import Backbone
from bench.models.core.objective import Objective
from bench.models.core.states import Rows


class {kind}(Objective):
    """(1 - p)^gamma * -log p of the target: a token the model already knows counts less.

    Source: Lin et al. 2017, eq. 4. To be replaced by your own: paper, section, equation, and where code differs.

    Args:
        backbone: any.
        gamma: at least 0, which is plain cross-entropy. Keyword-only arguments are options: `--set method.gamma=1`.
    """

    name: ClassVar[str] = "{name}"
    paper: ClassVar[str] = "Lin et al. 2017"

    def __init__(self, backbone: Backbone, *, gamma: Annotated[float, Range(0)] = 2.0) -> None:
        super().__init__(backbone)
        self.gamma = gamma

    def row_loss(self, log_probs: Tensor, rows: Rows, targets: Tensor) -> Tensor:
        """Loss of each position in nats, [n]."""
        return focal(-log_probs.gather(1, targets[:, None]).squeeze(1), self.gamma)


def focal(nll: Tensor, gamma: float) -> Tensor:
    """(1 - p)^gamma * -log p, of the shape of nll = -log p."""
    return (1 - torch.exp(-nll)) ** gamma * nll
'''

TEST = '''"""{kind}: the contract of every objective, and numbers worked by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from bench.errors import UsageError
{within}from bench.testing import check_objective
{beside}
NO_MODEL: Any = None


@pytest.mark.parametrize("backbone", ["small-causal", "small-encdec"])
def test_contract(backbone: str) -> None:
    report = check_objective({kind}, backbones=[backbone], quick=True)
    assert report.ok, str(report)


def test_by_hand() -> None:
    """A target with p = 1/2 costs (1/2)^2 ln 2, one with p = 1/4 costs (3/4)^2 ln 4; gamma = 0 is cross-entropy."""
    nll = torch.tensor([math.log(2), math.log(4)], dtype=torch.float64)
    assert focal(nll, 2.0).tolist() == pytest.approx([math.log(2) / 4, math.log(4) * 9 / 16])
    assert focal(nll, 0.0).tolist() == nll.tolist()


def test_each_row_is_read_at_its_own_target() -> None:
    log_probs = torch.tensor([[0.5, 0.3, 0.2], [0.15, 0.6, 0.25]], dtype=torch.float64).log()
    found = {kind}(NO_MODEL, gamma=2.0).row_loss(log_probs, NO_MODEL, torch.tensor([0, 2]))
    assert found.tolist() == pytest.approx([math.log(2) / 4, math.log(4) * 9 / 16])


def test_a_negative_gamma_is_refused() -> None:
    with pytest.raises(UsageError, match="option 'gamma' is at least 0, not -1"):
        {kind}(NO_MODEL, gamma=-1)
'''

IMPORTED = ("Annotated", "Any", "Backbone", "ClassVar", "Objective", "Range", "Rows", "Tensor")


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench new`."""
    parser.add_argument("kind", choices=["method"], metavar="KIND", help="method")
    parser.add_argument("name", metavar="NAME", help="lower-case letters, digits and '_'")
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="where; in a checkout of this project it becomes a built-in",
    )


def run(given: argparse.Namespace) -> int:
    """Write what was asked for and say what."""
    print(new_method(given.name, given.folder))
    return 0


def new_method(name: str, folder: Path) -> str:
    """Write a method; return what was written and what to do next.

    In a checkout of this project it becomes a built-in: class, list line, test. Elsewhere it is a class of one's own.

    Args:
        name: of the method and its module.
        folder: inside a checkout, or any folder.

    Raises:
        UsageError: for a name that is no name or is taken; nothing is written then.
    """
    kind = check_name(name)
    if not folder.is_dir():
        raise UsageError(f"--folder names '{folder}', which is no folder")
    root = checkout(folder)
    if root is None:
        refuse_hidden(name, folder)
        files = {folder / f"{name}.py": CLASS, folder / f"test_{name}.py": TEST}
        write(files, name=name, kind=kind, within="", beside=f"from {name} import {kind}, focal\n")
        return told([path.name for path in files], f"{name}:{kind}", "PYTHONPATH=. ")
    table = root / "models" / "__init__.py"
    text = listing(table.read_text(encoding="utf-8"), name, kind)
    files = {root / "models" / f"{name}.py": CLASS, root / "tests" / "models" / f"test_{name}.py": TEST}
    write(files, name=name, kind=kind, within=f"from bench.models.{name} import {kind}, focal\n", beside="")
    table.write_text(text, encoding="utf-8")
    return told([str(path.relative_to(root)) for path in (*files, table)], name, "")


def told(files: Sequence[str], asked: str, before: str) -> str:
    """Say what was written, the test second, and what to do next."""
    return (
        f"wrote {', '.join(files)}; next:\n  {before}bench check {asked}\n  pytest {files[1]}\n"
        f"  {before}bench run --task logicnlg --method mle,{asked}"
    )


def check_name(name: str) -> str:
    """Return the class a method's name makes, or refuse the name.

    >>> check_name("token_focus")
    'TokenFocus'
    """
    if not NAME.fullmatch(name) or keyword.iskeyword(name):
        raise UsageError(
            f"a method is named by lower-case letters, digits and '_', starting with a letter, and by no "
            f"word of Python's; not '{name}'"
        )
    if name in (*all_names(METHODS), *ALIASES, "all"):
        raise UsageError(f"'{name}' is a built-in method; choose another name")
    kind = "".join(part.capitalize() for part in name.split("_"))
    if kind in IMPORTED:
        raise UsageError(f"'{name}' would make a class {kind}, and the file imports one of that name; choose another")
    return kind


def checkout(folder: Path) -> Path | None:
    """Return the checkout a folder lies in, or None."""
    for root in (folder.resolve(), *folder.resolve().parents):
        project = root / "pyproject.toml"
        if (root / "models" / "__init__.py").is_file() and project.is_file() and PROJECT in project.read_text("utf-8"):
            return root
    return None


def refuse_hidden(name: str, folder: Path) -> None:
    """Refuse a module that would hide an installed one of the same name."""
    spec = importlib.util.find_spec(name)
    if spec is not None and spec.origin != str((folder / f"{name}.py").resolve()):
        raise UsageError(f"'{name}' is a module that is already there, which '{name}.py' would hide; choose another")


def write(files: Mapping[Path, str], **slots: str) -> None:
    """Write files that are not there yet, all or none, from templates."""
    for path in files:
        if path.exists():
            raise UsageError(f"'{path}' is there already and stays as it is; choose another name")
        if not path.parent.is_dir():
            raise UsageError(f"'{path.parent}' should be a folder for '{path.name}'; it is not there")
    for path, template in files.items():
        path.write_text(template.format(**slots), encoding="utf-8")


def listing(text: str, name: str, kind: str) -> str:
    """Return models/__init__.py with a line for a method, behind the other objectives and before the baselines."""
    table = methods_table(text)
    baselines = [
        key.lineno
        for key, value in zip(table.keys, table.values, strict=True)
        if key and "baseline=True" in ast.unparse(value)
    ]
    end = table.end_lineno or 0
    at = (baselines or [end])[0] - 1
    rows = text.splitlines(keepends=True)
    line = f'    "{name}": MethodEntry("bench.models.{name}:{kind}", "to be described", "Lin et al. 2017"),\n'
    return "".join([*rows[:at], line, *rows[at:]])


def methods_table(text: str) -> ast.Dict:
    """Return the table METHODS in the syntax of models/__init__.py.

    Raises:
        UsageError: there is none.
    """
    for node in ast.parse(text).body:
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "METHODS":
            if isinstance(node.value, ast.Dict):
                return node.value
            break
    raise UsageError("models/__init__.py should hold the table METHODS = {...}; it does not")
