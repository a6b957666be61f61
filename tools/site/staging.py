"""The source of the site: a copy of the pages where the generator finds them, with equations typeset."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import yaml

from tools.site.mathematics import typeset
from tools.site.pages import ROOT, Page, pages

CONFIGURATION = ROOT / "mkdocs.yml"
ASSETS = Path("docs/assets")
GENERATED = ROOT / "build" / "catalogue"
"""Pages that `python -m tools.catalogue` makes of the code, by their paths in the site."""


def stage(target: Path) -> None:
    """Write configuration and pages below a folder; pages keep their paths, so that their links hold.

    Files that a page points at go along, such as pictures, notebooks and sources. Folders do not.

    Args:
        target: a folder; what is there is removed.
    """
    shutil.rmtree(target, ignore_errors=True)
    found = [*pages(), *pages(GENERATED)]
    for page in found:
        _written(target / "pages" / page.path, typeset(page.text))
    for path in sorted(linked_files(found)):
        _copied(path, target)
    shutil.copytree(ROOT / ASSETS, target / "pages" / ASSETS)
    configuration = yaml.safe_load(CONFIGURATION.read_text(encoding="utf-8"))
    configuration["nav"] = expanded(configuration["nav"], [page.path for page in found])
    _written(target / "mkdocs.yml", yaml.safe_dump(configuration, sort_keys=False))


def linked_files(found: list[Page]) -> set[Path]:
    """Return the files that pages point at and that are no pages themselves.

    Raises:
        SystemExit: one is not there; the generator says so of links between pages, and of nothing else.
    """
    files = {path for page in found for path, _ in page.links if path.suffix != ".md"}
    missing = sorted(path.as_posix() for path in files if not (ROOT / path).exists())
    if missing:
        raise SystemExit(f"expected what pages point at to be there, got none of: {', '.join(missing)}")
    return {path for path in files if (ROOT / path).is_file()}


def expanded(entries: list[Any], paths: list[Path]) -> list[Any]:
    """Return a navigation with the pages that a `*` stands for; sections without a page are left out.

    They are sorted without their suffix: the index `bench.md` before `bench.base.options.md`.

    Args:
        entries: of the navigation.
        paths: of all pages.
    """
    made: list[Any] = []
    for entry in entries:
        if isinstance(entry, str) and "*" in entry:
            found = sorted(path.with_suffix("").as_posix() for path in paths if path.match(entry))
            made += [f"{name}.md" for name in found]
        elif isinstance(entry, dict):
            ((title, inner),) = entry.items()
            if isinstance(inner, list):
                inner = expanded(inner, paths)
            if inner:
                made.append({title: inner})
        else:
            made.append(entry)
    return made


def _written(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _copied(path: Path, target: Path) -> None:
    (target / "pages" / path).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / path, target / "pages" / path)
