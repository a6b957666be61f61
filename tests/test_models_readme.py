"""The classes of models/README.md and its examples keep to the contract."""

import re
from pathlib import Path

import pytest

from bench.config.resolve import find_method
from bench.models import METHODS
from bench.testing import check_objective
from tests.bench.own import Own

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "models" / "README.md").read_text(encoding="utf-8")
EXAMPLES = ROOT / "docs" / "examples" / "objectives"
FILES = dict(re.findall(r"```python\n# (\w+)\.py\n(.*?)```", PAGE, re.DOTALL))
FILES |= {path.stem: path.read_text(encoding="utf-8") for path in sorted(EXAMPLES.glob("*.py"))}
CLASSES = {name: re.findall(r"^class (\w+)\(", text, re.MULTILINE) for name, text in FILES.items()}


@pytest.fixture
def written(own: Own) -> Own:
    """The files where they can be imported."""
    for name, text in FILES.items():
        own.write(name, text)
    return own


@pytest.mark.parametrize("name", FILES)
def test_its_classes_keep_to_the_contract(written: Own, name: str) -> None:
    results = check_objective(f"{name}:{CLASSES[name][0]}", backbones=["small-causal"], quick=True)
    assert not [str(result) for result in results if not result.ok]


def test_its_first_method_is_found_as_a_file(written: Own) -> None:
    """From a folder where the module is not importable, as the page types it."""
    by_file = find_method(f"{written.folder}/focal.py:Focal")
    assert (by_file.name, by_file.code) == ("focal", find_method("focal:Focal").code)


def test_the_table_of_methods_has_every_method_with_its_controls() -> None:
    text = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"<!-- methods -->\n(.*?)\n<!-- end -->", text, re.DOTALL)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    assert {row[0].strip("`"): row[3].replace("`", "").split(", ") for row in rows} == {
        name: list(entry.controls) or [""] for name, entry in METHODS.items()
    }
