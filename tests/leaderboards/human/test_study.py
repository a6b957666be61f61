"""A study is drawn, blinded and balanced by its seed; no text in its page, its HITs or their layout comes alive."""

import csv
import html
import io
import json
import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from bench.base.keys import sha256
from bench.errors import StoreError, UsageError
from bench.leaderboards.human.page import hit_layout, hits, page, referenced
from bench.leaderboards.human.study import KINDS, Rated, study, write_study
from tests.leaderboards.studies import HOSTILE, made, rows


def hostile_study(kind):
    methods = ("histalign", "trime", "mle")[: 2 if kind == "pairwise" else 3]
    found = [Rated(text, text, dict.fromkeys(methods, text)) for text in HOSTILE]
    return study(found, methods, kind, items=len(HOSTILE))


# Drawing and blinding ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_rows_and_seed_give_the_same_study_in_any_order(kind):
    one = made(kind, checks=2)
    methods = one.key["methods"]
    assert study(rows(12, methods)[::-1], methods, kind, items=6, checks=2) == one
    assert made(kind, checks=2, seed=1).key["study"] != one.key["study"]


def test_items_are_the_same_rows_whatever_the_order_of_methods():
    first, second = made(methods=("histalign", "trime")), made(methods=("trime", "histalign"))
    drawn = {item["row"] for item in first.key["items"].values()}
    assert drawn == {item["row"] for item in second.key["items"].values()}
    assert len(drawn) == 6


@pytest.mark.parametrize("seed", range(5))
def test_each_method_stands_left_equally_often_and_not_by_turns(seed):
    sides = [item["methods"][0] for item in made(n=60, items=50, seed=seed).key["items"].values()]
    assert Counter(sides) == {"histalign": 25, "trime": 25}
    assert sides != sides[:2] * 25
    assert any(one == other for one, other in zip(sides, sides[1:], strict=False))


def test_each_of_three_methods_stands_in_each_place_equally_often():
    items = made("single", n=40, items=30).key["items"].values()
    for place in range(3):
        assert set(Counter(item["methods"][place] for item in items).values()) == {10}


@pytest.mark.parametrize("kind", KINDS)
def test_the_texts_shown_are_those_of_the_methods_in_the_key(kind):
    found = made(kind)
    given = {row.id: row for row in rows(12, found.key["methods"])}
    for item in found.content["items"]:
        secret = found.key["items"][item["id"]]
        row = given[secret["row"]]
        assert item["context"] == row.context
        assert [text["text"] for text in item["texts"]] == [row.texts[method] for method in secret["methods"]]


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_raters_get_names_a_method_a_row_a_seed_or_a_check(kind, tmp_path):
    found = made(kind, checks=2, about={"cells": {"trime": {"trained": "cellkey"}}})
    where = write_study(tmp_path, found)
    for name in ("study.html", "mturk.csv", "mturk.html"):
        text = where[name].read_text(encoding="utf-8").lower()
        for secret in ("histalign", "trime", "row0", "cellkey", '"check"', '"methods"', '"seed"'):
            assert secret not in text, (name, secret)
    assert "cellkey" in where["key.json"].read_text()


def test_the_two_texts_of_a_pair_differ_little_in_length():
    long = [replace(row, texts={**row.texts, "trime": row.texts["trime"] + "x" * 200}) for row in rows(3)]
    even = [
        replace(row, id=f"even{i}", texts={**row.texts, "trime": row.texts["trime"] + "x" * 199})
        for i, row in enumerate(rows(3))
    ]
    found = study(long + even, ("histalign", "trime"), "pairwise", items=3)
    assert {item["row"][:4] for item in found.key["items"].values()} == {"even"}
    with pytest.raises(UsageError, match=r"expected 4 rows .* got 6 .* 3 of them with texts less than 200"):
        study(long + even, ("histalign", "trime"), "pairwise", items=4)
    assert len(study(long + even, ("histalign", "trime"), "pairwise", items=6, gap=0).content["items"]) == 6


# Checks -----------------------------------------------------------------------------------------------------------


def test_a_check_of_a_pair_has_the_same_words_in_another_order():
    found = made(checks=3)
    shown = {item["id"]: item for item in found.content["items"]}
    checks = {name: item for name, item in found.key["items"].items() if item["check"]}
    assert len(checks) == 3
    for name, secret in checks.items():
        right, wrong = (
            shown[name]["texts"]["AB".index(side)]["text"]
            for side in (secret["check"]["fluency"], "BA"["AB".index(secret["check"]["fluency"])])
        )
        assert right.startswith("Text ")
        assert right != wrong
        assert sorted(right.split()) == sorted(wrong.split())
        assert set(secret["check"]) == {"fluency", "coherence"}


def test_checks_stand_among_the_items():
    places = {
        i
        for seed in range(8)
        for i, item in enumerate(made(checks=1, seed=seed).key["items"].values())
        if item["check"]
    }
    assert len(places) >= 3


def test_a_check_of_single_texts_shows_those_of_another_row():
    found = made("single", checks=2)
    shown = {item["id"]: item for item in found.content["items"]}
    rows_rated = {item["row"] for item in found.key["items"].values() if not item["check"]}
    for name, secret in found.key["items"].items():
        if secret["check"]:
            assert secret["row"] not in rows_rated
            (number,) = {text["text"].split(".")[0] for text in shown[name]["texts"]}
            assert number != "Text " + re.findall(r"\d+", shown[name]["context"])[0]
            assert secret["check"] == {f"faithfulness_{label}": "no" for label in "ABC"}


def test_texts_too_short_to_shuffle_are_no_checks():
    with pytest.raises(UsageError, match="0 left for checks"):
        study(rows(12, words=2), ("histalign", "trime"), "pairwise", items=6, checks=1)


def test_a_check_of_single_texts_never_shows_another_sentence_of_the_same_source():
    methods = ("mle", "trime")
    found = [replace(row, context=f"Table {i // 11}") for i, row in enumerate(rows(22, methods))]
    shown = study(found, methods, "single", items=6, checks=9)
    texts = {item["id"]: item for item in shown.content["items"]}
    for name, secret in shown.key["items"].items():
        if secret["check"]:
            number = int(re.findall(r"Text (\d+)", texts[name]["texts"][0]["text"])[0])
            assert texts[name]["context"] != f"Table {number // 11}"
    with pytest.raises(UsageError, match="texts of another source"):
        study([replace(row, context="x") for row in found], methods, "single", items=6, checks=1)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"kind": "triple"}, "kind of study"),
        ({"methods": ("trime", "trime")}, "each once"),
        ({"methods": ("trime",)}, "two methods"),
        ({"items": 0}, "at least 1 item"),
        ({"items": 13}, "expected 13 rows"),
        ({"items": 12, "checks": 1}, "1 more for checks"),
    ],
)
def test_what_makes_no_study_is_refused(change, says):
    given = {"methods": ("histalign", "trime"), "kind": "pairwise", "items": 6, **change}
    with pytest.raises(UsageError, match=says):
        study(rows(12, given["methods"]), given.pop("methods"), given.pop("kind"), **given)


# Files ------------------------------------------------------------------------------------------------------------


def test_the_key_has_the_hash_of_the_page_and_is_never_written_over_by_another_study(tmp_path):
    where = write_study(tmp_path, made())
    key = json.loads(where["key.json"].read_text())
    assert key["page_sha256"] == sha256(where["study.html"].read_bytes())
    assert write_study(tmp_path, made()) == where
    with pytest.raises(UsageError, match=f"holds the key of {key['study']}"):
        write_study(tmp_path, made(seed=1))
    assert json.loads(where["key.json"].read_text()) == key
    where["key.json"].write_text("{")
    with pytest.raises(StoreError, match="is no key of a study"):
        write_study(tmp_path, made())


class Reader(HTMLParser):
    """Tags with their attributes, and the text in scripts."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.scripts = [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data):
        if self.tags and self.tags[-1][0] == "script":
            self.scripts[-1] += data


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_texts_are_data_in_the_page(kind):
    found = hostile_study(kind)
    text = page(found.content)
    read = Reader(text)
    plain = Reader(page(made(kind).content))
    assert [tag for tag, _ in read.tags] == [tag for tag, _ in plain.tags]
    assert json.loads(read.scripts[0]) == found.content
    text.encode()
    body = text[text.index('id="content"') :]
    assert "\u2028" not in body
    assert "{{" not in re.sub(r'<script type="application/json".*?</script>', "", text, flags=re.DOTALL)


def test_the_policy_lets_the_page_load_nothing():
    (policy,) = [
        about["content"]
        for tag, about in Reader(page(made().content)).tags
        if tag == "meta" and about.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert "http" not in page(made().content).replace("http-equiv", "")


def test_the_script_makes_no_markup_of_texts():
    (script,) = Reader(page(made().content)).scripts[1:]
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "fetch(", "XMLHttp"):
        assert word not in script


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_texts_are_inert_in_the_csv_and_read_as_they_are(kind):
    found = hostile_study(kind)
    text = hits(found.content)
    assert text.isascii()
    assert len(text.split("\r\n")) == len(HOSTILE) + 2
    lines = list(csv.DictReader(io.StringIO(text, newline="")))
    for line, item in zip(lines, found.content["items"], strict=True):
        cells = [line["context"], *(line[f"text_{one['label']}"] for one in item["texts"])]
        for cell in cells:
            assert not cell.startswith(("=", "+", "-", "@", "\t", "\r", " "))
            assert not set(cell) & set("<>\"'${}\\`")
        shown = [item["context"], *(one["text"] for one in item["texts"])]
        assert [html.unescape(cell) for cell in cells] == shown
        assert line["study"] == found.content["study"]


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_texts_are_inert_in_the_layout_once_filled_in(kind):
    found = hostile_study(kind)
    layout = hit_layout(found.content)
    lines = list(csv.DictReader(io.StringIO(hits(found.content), newline="")))
    slots = set(re.findall(r"\$\{(\w+)\}", layout))
    assert slots == set(lines[0]) - {"study", "content", "item"}
    empty = Reader(re.sub(r"\$\{\w+\}", "", layout)).tags
    for line in lines:
        filled = layout
        for _ in range(2):  # twice: no text makes a slot
            filled = re.sub(r"\$\{(\w+)\}", lambda slot, line=line: line[slot[1]], filled)
        assert Reader(filled).tags == empty


def test_every_question_of_the_layout_must_be_answered():
    asked = Counter(about["name"] for tag, about in Reader(hit_layout(made("single").content)).tags if tag == "input")
    assert asked == {f"{question}_{label}": 2 for label in "ABC" for question in ("faithfulness", "informativeness")}
    assert all("required" in about for tag, about in Reader(hit_layout(made().content)).tags if tag == "input")


def test_a_reference_is_what_a_browser_shows():
    for text in HOSTILE[:16]:
        assert html.unescape(referenced(text)) == text
