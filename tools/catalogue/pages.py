"""Every generated page of the documentation: `python -m tools.regenerate catalogue` writes them."""

from __future__ import annotations

from tools.catalogue.api_pages import api_pages
from tools.catalogue.backbone_page import backbone_pages
from tools.catalogue.command_line_page import command_line_pages
from tools.catalogue.decoding_page import decoding_pages
from tools.catalogue.method_pages import method_pages
from tools.catalogue.metric_page import metric_pages
from tools.catalogue.places import DOCS, FOLDERS
from tools.catalogue.task_pages import task_pages

__all__ = ["committed_pages", "pages", "write_pages"]

MAKERS = (
    method_pages,
    task_pages,
    metric_pages,
    backbone_pages,
    decoding_pages,
    command_line_pages,
    api_pages,
)


def pages() -> dict[str, str]:
    """Return the text of every page, by name below `docs`; each ends with one line end."""
    found: dict[str, str] = {}
    for make in MAKERS:
        found |= {name: f"{text.rstrip()}\n" for name, text in make().items()}
    return found


def committed_pages() -> dict[str, str]:
    """Return what stands in the folders of generated pages."""
    found = {}
    for folder in FOLDERS:
        for path in sorted((DOCS / folder).rglob("*")):
            if path.is_file():
                found[path.relative_to(DOCS).as_posix()] = path.read_text(encoding="utf-8")
    return found


def write_pages() -> None:
    """Write every page, and remove what is none any more."""
    made = pages()
    for name in committed_pages().keys() - made.keys():
        (DOCS / name).unlink()
    for name, text in made.items():
        path = DOCS / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
