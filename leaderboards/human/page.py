"""Human page: a study as one HTML file that works offline (`study/` holds its parts), and as HITs for MTurk.

No text of a study is trusted. In the page it is JSON that cannot end its element, and the script makes text nodes of
it. In the HITs every character that could mean something to HTML, a spreadsheet or MTurk is a numeric reference.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import html
import io
import re
import string
from collections.abc import Mapping
from importlib import resources
from typing import Any

from bench.base.outward import json_text

__all__ = ["embedded", "hit_layout", "hits", "page", "referenced"]

PLAIN = set(string.ascii_letters + string.digits + " .,;:!?()/-")
"""Characters that mean nothing to HTML, CSV, spreadsheets (but at the start) and MTurk's `${...}`."""
ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def page(content: Mapping[str, Any]) -> str:
    """Return the page of a study; its policy lets only its own script and style run and loads nothing.

    Args:
        content: of a study, what raters get.
    """
    style, script = _part("study.css"), f'(() => {{\n"use strict";\n{_part("study.js")}}})();\n'
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src '{_digest(script)}'",
            f"style-src '{_digest(style)}'",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    parts = {"policy": policy, "style": style, "script": script, "content": embedded(content)}
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _part("study.html"))


def embedded(content: Any) -> str:
    """Return JSON that can stand in a script element: no character in it can end one or start a comment.

    >>> embedded("</script>")
    '"\\\\u003c/script\\\\u003e"'
    """
    text = json_text(content, allow_nan=False, separators=(",", ":"))
    return re.sub("[<>&]", lambda match: ESCAPES[match[0]], text)


def hits(content: Mapping[str, Any]) -> str:
    r"""Return the CSV that MTurk makes HITs from: ASCII only, one HIT a row, one line a row.

    Columns, which `hit_layout` shows as `${<column>}` and which come back as `Input.<column>`:
        study, content: the study's id and the hash of its content; the importer wants both back.
        item: its opaque name, as in `key.json`.
        context: the prompt or source text.
        text_A, text_B, ...: the texts, in the order they are shown.
    Texts have numeric character references, also for line ends: a browser shows them and nothing runs them.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    labels = [text["label"] for text in content["items"][0]["texts"]]
    writer.writerow(["study", "content", "item", "context", *(f"text_{label}" for label in labels)])
    for item in content["items"]:
        texts = [referenced(text["text"]) for text in item["texts"]]
        writer.writerow([content["study"], content["content"], item["id"], referenced(item["context"]), *texts])
    return out.getvalue()


def referenced(text: str) -> str:
    """Return a text with a numeric character reference for every character but those of `PLAIN`.

    At its start only letters and digits stay, since a spreadsheet may take others for a formula.

    >>> referenced("=1 <b>"), referenced("a-b ${x}")
    ('&#61;1 &#60;b&#62;', 'a-b &#36;&#123;x&#125;')
    """
    shown = []
    for i, character in enumerate(text):
        if character in PLAIN and (i > 0 or character.isalnum()):
            shown.append(character)
        else:
            shown.append(f"&#{ord(character)};")
    return "".join(shown)


def hit_layout(content: Mapping[str, Any]) -> str:
    """Return the HTML of a HIT, to be pasted into the requester's page: `${...}` are the columns of `hits`.

    An answer is named by its question, in single studies by `question_label`: `fluency`, `faithfulness_A`.
    """
    labels = [text["label"] for text in content["items"][0]["texts"]]
    questions = content["questions"]
    pairwise = content["kind"] == "pairwise"
    heading = "Source"
    if pairwise:
        heading = "Beginning"
    explained = [f"<li><b>{_text(question['title'])}.</b> {_text(question['about'])}</li>\n" for question in questions]
    fields = []
    for label in labels:
        fields.append(f'<h3>{label}</h3>\n<p class="text"><bdi dir="auto">${{text_{label}}}</bdi></p>\n')
        if not pairwise:
            fields += [_choice(question, f"{question['name']}_{label}") for question in questions]
    if pairwise:
        fields += [_choice(question, question["name"]) for question in questions]
    return (
        '<script src="https://assets.crowd.aws/crowd-html-elements.js"></script>\n'
        "<style>.text { white-space: pre-wrap; max-width: 70ch; line-height: 1.5; } "
        "bdi { unicode-bidi: isolate; } fieldset { margin: 1em 0; } label { margin-right: 1.5em; }</style>\n"
        f"<crowd-form>\n<p>{_text(content['about'])}</p>\n<ul>\n{''.join(explained)}</ul>\n"
        f'<h3>{heading}</h3>\n<p class="text"><bdi dir="auto">${{context}}</bdi></p>\n'
        f"{''.join(fields)}</crowd-form>\n"
    )


def _choice(question: Mapping[str, Any], name: str) -> str:
    radios = []
    for answer in question["answers"]:
        radio = f'<input type="radio" name="{name}" value="{answer["value"]}" required>'
        radios.append(f"<label>{radio} {_text(answer['label'])}</label>\n")
    return f"<fieldset><legend>{_text(question['title'])}</legend>\n{''.join(radios)}</fieldset>\n"


def _text(text: str) -> str:
    return html.escape(text)


def _part(name: str) -> str:
    return resources.files("bench.leaderboards").joinpath("study", name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
