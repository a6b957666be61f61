"""Human page: a study as one HTML file that works offline (`study/` holds its parts), and as HITs for MTurk.

No text of a study is trusted: in the page it is JSON that cannot end its element, and the script makes text nodes of
it; in the HITs every character that could mean something to HTML, a spreadsheet or the slots is a numeric reference.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import html
import io
import json
import re
import string
from collections.abc import Mapping
from importlib import resources
from typing import Any

__all__ = ["embedded", "hit_layout", "hits", "page", "referenced"]

PLAIN = set(string.ascii_letters + string.digits + " .,;:!?()/-")
"""Characters that mean nothing to HTML, CSV, spreadsheets (but at the start) and slots."""
PARTED = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def page(content: Mapping[str, Any]) -> str:
    """Return the page of a study; its policy lets nothing but its own script and style run and nothing be loaded."""
    style, script = _part("study.css"), f'(() => {{\n"use strict";\n{_part("study.js")}}})();\n'
    policy = [
        "default-src 'none'", f"script-src '{_digest(script)}'", f"style-src '{_digest(style)}'",
        "base-uri 'none'", "form-action 'none'",
    ]  # fmt: skip
    given = {"policy": "; ".join(policy), "style": style, "script": script, "content": embedded(content)}
    return re.sub(r"\{\{(\w+)\}\}", lambda found: given[found[1]], _part("study.html"))


def embedded(content: Any) -> str:
    """Return JSON that can stand in a script element: no character in it can end one or start a comment.

    >>> embedded("</script>")
    '"\\\\u003c/script\\\\u003e"'
    """
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return re.sub("[<>&\u2028\u2029]", lambda found: PARTED[found[0]], text)


def hits(content: Mapping[str, Any]) -> str:
    r"""Return the CSV that MTurk makes HITs from, one a row, ASCII only, one line a row.

    Columns, which are also the slots of `hit_layout` and come back as `Input.<column>`:
        study, content: the study's id and the hash of its content; the importer wants both back.
        item: its opaque name, as in `key.json`.
        context: the prompt or source text.
        text_A, text_B, ...: the texts, in the order they are shown.
    Texts have numeric character references, also for line ends, so that a browser shows them and nothing runs them.
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
    """Return a text with a numeric character reference for all but harmless characters.

    >>> referenced("=1 <b>"), referenced("a-b ${x}")
    ('&#61;1 &#60;b&#62;', 'a-b &#36;&#123;x&#125;')
    """
    return "".join(c if c in PLAIN and (i or c.isalnum()) else f"&#{ord(c)};" for i, c in enumerate(text))


def hit_layout(content: Mapping[str, Any]) -> str:
    """Return the HTML of a HIT, to be pasted into the requester's page: `${...}` are the columns of `hits`.

    An answer is named by its question, in single studies by `question_label`: `fluency`, `faithfulness_A`.
    """
    labels = [text["label"] for text in content["items"][0]["texts"]]
    pairwise = content["kind"] == "pairwise"
    asked = "".join(f"<li><b>{_text(one['title'])}.</b> {_text(one['about'])}</li>\n" for one in content["questions"])
    parts = []
    for label in labels:
        parts.append(f'<h3>{label}</h3>\n<p class="text"><bdi dir="auto">${{text_{label}}}</bdi></p>\n')
        if not pairwise:
            parts += [_choice(one, f"{one['name']}_{label}") for one in content["questions"]]
    if pairwise:
        parts += [_choice(one, one["name"]) for one in content["questions"]]
    return (
        '<script src="https://assets.crowd.aws/crowd-html-elements.js"></script>\n'
        "<style>.text { white-space: pre-wrap; max-width: 70ch; line-height: 1.5; } "
        "bdi { unicode-bidi: isolate; } fieldset { margin: 1em 0; } label { margin-right: 1.5em; }</style>\n"
        f"<crowd-form>\n<p>{_text(content['about'])}</p>\n<ul>\n{asked}</ul>\n"
        f'<h3>{"Beginning" if pairwise else "Source"}</h3>\n<p class="text"><bdi dir="auto">${{context}}</bdi></p>\n'
        f"{''.join(parts)}</crowd-form>\n"
    )


def _choice(question: Mapping[str, Any], name: str) -> str:
    radios = "".join(
        f'<label><input type="radio" name="{name}" value="{one["value"]}" required> {_text(one["label"])}</label>\n'
        for one in question["answers"]
    )
    return f"<fieldset><legend>{_text(question['title'])}</legend>\n{radios}</fieldset>\n"


def _text(text: str) -> str:
    return html.escape(text)


def _part(name: str) -> str:
    return resources.files("bench.leaderboards").joinpath("study", name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
