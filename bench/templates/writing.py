"""Writing: an entry's code and test from their templates; in a checkout of this project, its line in the table too."""

from __future__ import annotations

import ast
import importlib.util
import keyword
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from string import Template

from bench.errors import UsageError
from bench.templates.kinds import KINDS, Kind

__all__ = ["NAME", "check_name", "checkout", "listing", "new_entry"]

NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
"""What is a file, a module and a name of an entry alike."""

PROJECT = 'name = "objective-bench"'


def new_entry(what: str, name: str, folder: Path) -> str:
    """Write an entry of a kind; return what was written and what to do next.

    In a checkout of this project it becomes a built-in: code, line in the table, test. Elsewhere it is one's own.

    Args:
        what: a name of `KINDS`.
        name: of the entry and its module.
        folder: inside a checkout, or any folder.

    Raises:
        UsageError: for a name that is no name or is taken; nothing is written then.
    """
    kind = KINDS[what]
    class_name = check_name(name, what)
    if not folder.is_dir():
        raise UsageError(f"--folder names '{folder}', which is no folder")
    slots = {"name": name, "class": class_name, "column": name.replace("_", "-")}
    root = checkout(folder)
    if root is None:
        refuse_hidden(name, folder)
        files = [folder / f"{name}.py", folder / f"test_{name}.py"]
        asked = f"{name}:{name}"
        if kind.is_class:
            asked = f"{name}:{class_name}"
        write(files, what, own_slots(kind, slots, asked))
        return told([path.name for path in files], kind, asked)
    table = root / kind.room / "__init__.py"
    text = listing(table.read_text(encoding="utf-8"), what, slots)
    files = [root / kind.folder / f"{name}.py", root / "tests" / kind.folder / f"test_{name}.py"]
    write(files, what, built_in_slots(kind, slots))
    table.write_text(text, encoding="utf-8")
    return told([str(path.relative_to(root)) for path in (*files, table)], kind, name)


def own_slots(kind: Kind, slots: Mapping[str, str], asked: str) -> dict[str, str]:
    """Return what is put into the templates of an entry of one's own, which says of itself what a table would."""
    beside = f"from {slots['name']} import {filled(kind.given, slots)}\n"
    entry, columns = filled(kind.entry, slots), kind.columns
    own = {"within": "", "beside": beside, "asked": asked, "columns": columns, "entry": entry}
    return {**slots, **own, "entry_import": kind.entry_import}


def built_in_slots(kind: Kind, slots: Mapping[str, str]) -> dict[str, str]:
    """Return what is put into the templates of a built-in entry."""
    package = kind.folder.replace("/", ".")
    within = f"from bench.{package}.{slots['name']} import {filled(kind.given, slots)}\n"
    own = {"within": within, "beside": "", "asked": slots["name"], "columns": "", "entry": "", "entry_import": ""}
    return {**slots, **own}


def filled(template: str, slots: Mapping[str, str]) -> str:
    """Return a template with its slots filled."""
    return Template(template).substitute(slots)


def told(files: Sequence[str], kind: Kind, asked: str) -> str:
    """Say what was written, the test second, and what to do next."""
    first, *rest = [filled(line, {"asked": asked}) for line in kind.next]
    lines = [f"wrote {', '.join(files)}; next:", f"  {first}", f"  pytest {files[1]}", *(f"  {line}" for line in rest)]
    return "\n".join(lines)


def check_name(name: str, what: str = "method") -> str:
    """Return the class that a name makes, or refuse the name.

    >>> check_name("token_focus")
    'TokenFocus'
    """
    kind = KINDS[what]
    if not NAME.fullmatch(name) or keyword.iskeyword(name):
        raise UsageError(
            f"a {what} is named by lower-case letters, digits and '_', starting with a letter, and by no "
            f"word of Python's; not '{name}'"
        )
    if name in (*kind.taken, "all"):
        raise UsageError(f"'{name}' is a built-in {what}; choose another name")
    class_name = "".join(part.capitalize() for part in name.split("_"))
    if kind.is_class and class_name in kind.imported:
        raise UsageError(
            f"'{name}' would make a class {class_name}, and the file imports one of that name; choose another"
        )
    if not kind.is_class and name in kind.imported:
        raise UsageError(f"'{name}' is a name that the file imports; choose another")
    return class_name


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


def write(files: Sequence[Path], what: str, slots: Mapping[str, str]) -> None:
    """Write code and test, neither of which may be there yet, both or none."""
    for path in files:
        if path.exists():
            raise UsageError(f"'{path}' is there already and stays as it is; choose another name")
        if not path.parent.is_dir():
            raise UsageError(f"'{path.parent}' should be a folder for '{path.name}'; it is not there")
    for path, template in zip(files, (f"{what}.txt", f"{what}_test.txt"), strict=True):
        text = (resources.files("bench.templates") / template).read_text(encoding="utf-8")
        path.write_text(filled(text, slots), encoding="utf-8")


def listing(text: str, what: str, slots: Mapping[str, str]) -> str:
    """Return the file of a table with a line more: behind the other entries, of methods before the baselines."""
    kind = KINDS[what]
    table = table_in(text, kind)
    baselines = [
        key.lineno
        for key, value in zip(table.keys, table.values, strict=True)
        if key and "baseline=True" in ast.unparse(value)
    ]
    end = table.end_lineno or 0
    at = (baselines or [end])[0] - 1
    rows = text.splitlines(keepends=True)
    return "".join([*rows[:at], filled(kind.line, slots), *rows[at:]])


def table_in(text: str, kind: Kind) -> ast.Dict:
    """Return the table of a kind in the syntax of its file.

    Raises:
        UsageError: there is none.
    """
    for node in ast.parse(text).body:
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == kind.table:
            if isinstance(node.value, ast.Dict):
                return node.value
            break
    raise UsageError(f"{kind.room}/__init__.py should hold the table {kind.table} = {{...}}; it does not")
