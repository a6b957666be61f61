"""The study in a real browser: answered by keyboard, kept over a reload, saved and read back; nothing in it alive."""

import json
import time

import pytest

from bench.leaderboards.human.answers import read_answers, read_key
from bench.leaderboards.human.results import results
from bench.leaderboards.human.study import Rated, study, write_study
from tests.leaderboards.chromium import installed
from tests.leaderboards.studies import HOSTILE, made, side_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(installed() is None, reason="needs Chromium; Debian's package chromium is one"),
]

KEYS = {"1": 49, "2": 50, "3": 51, "ArrowRight": 39, "ArrowLeft": 37, "ArrowUp": 38, "Enter": 13}
PATIENCE_S = 20
STORED = "JSON.stringify(Object.entries(localStorage).sort())"


def opened(browser, folder, of):
    """Write a study, open its page as on a first visit, and say who is reading."""
    where = write_study(folder, of)
    browser.first_visit()
    browser.downloads_to(folder)
    browser.size(1100, 900)
    browser.open(where["study.html"].as_uri())
    return where


def begin(browser, name="anna"):
    browser.eval("document.getElementById('rater').focus()")
    browser.eval("document.getElementById('rater').value = ''")
    browser.type(name)
    press(browser, "Enter")


def reload(browser):
    """Load the page again with what it has stored.

    On a busy machine Chromium may give a new document an older copy of what the old one stored a moment ago. Then it is
    stored once more.
    """
    stored, until = browser.eval(STORED), time.monotonic() + PATIENCE_S
    browser.reload()
    while browser.eval(STORED) != stored:
        assert time.monotonic() < until, f"what was stored is not there after {PATIENCE_S} s: {stored}"
        browser.eval(f"for (const [name, value] of {stored}) localStorage.setItem(name, value)")
        browser.reload()


def press(browser, *keys):
    for key in keys:
        browser.press(key, KEYS[key], key if len(key) == 1 else "")


def text(browser, selector):
    return browser.eval(f"document.querySelector({json.dumps(selector)})?.textContent ?? null")


def chosen(browser):
    return browser.eval("[...document.querySelectorAll('[aria-pressed=true]')].map((e) => e.dataset.value)")


def saved(folder, ending):
    path, until = folder / f"answers-anna.{ending}", time.monotonic() + PATIENCE_S
    while not path.is_file() or not path.stat().st_size:
        assert time.monotonic() < until, f"no {path.name} after {PATIENCE_S} s"
        time.sleep(0.05)
    return path


def complaints(browser):
    """Exceptions, breaches of the policy, and requests for anything but the page and what it saves."""
    browser.eval("1")
    bad = [e["params"] for e in browser.events if e.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded")]
    sent = [e["params"]["request"]["url"] for e in browser.events if e.get("method") == "Network.requestWillBeSent"]
    return bad + [url for url in sent if not url.startswith(("file:", "about:", "blob:"))]


def test_three_items_by_keyboard_come_back_through_the_importer(browser, tmp_path):
    where = opened(browser, tmp_path, made(items=3))
    key = read_key(where["key.json"])
    press(browser, "1", "ArrowRight")
    assert text(browser, "#progress") == "3 items"
    begin(browser)
    assert text(browser, "#progress") == "1 of 3 · 0 done"
    press(browser, "ArrowRight")
    assert text(browser, "#notice") == "Please answer every question first."
    want = {}
    for i, item in enumerate(key["items"]):
        fluent = side_of(key, item, "histalign")
        want[item] = {"fluency": fluent, "coherence": "tie" if i == 2 else fluent}
        press(browser, *(str(["A", "B", "tie"].index(answer) + 1) for answer in want[item].values()))
        assert chosen(browser) == list(want[item].values())
        press(browser, "ArrowRight" if i else "Enter")
    assert text(browser, "#progress") == "3 done"
    press(browser, "ArrowLeft", "ArrowUp", "3", "ArrowRight")  # coherence of the last item is a tie already
    for ending in ("csv", "json"):
        browser.click(f"#{ending}")
        answers = read_answers([saved(tmp_path, ending)], key)
        assert {(one.item, one.slot): one.answer for one in answers.judgements} == {
            (item, slot): answer for item, found in want.items() for slot, answer in found.items()
        }
        assert answers.raters == ("anna",)
        assert answers.remarks == ()
    shares = [pair.judgements.shares for pair in results(answers, key, rounds=99).pairs]
    assert shares == [(100, 0, 0), pytest.approx((200 / 3, 100 / 3, 0))]
    assert complaints(browser) == []


def test_progress_is_kept_by_rater_and_what_does_not_fit_is_not_believed(browser, tmp_path):
    where = opened(browser, tmp_path, made("single", items=2))
    begin(browser)
    press(browser, "1", "2", "1", "2", "1", "2", "ArrowRight", "2")
    reload(browser)
    assert browser.eval("document.getElementById('rater').value") == "anna"
    begin(browser)
    assert (text(browser, "#progress"), chosen(browser)) == ("2 of 2 · 1 done", ["no"])
    reload(browser)
    begin(browser, "Ана 2")
    assert (text(browser, "#progress"), chosen(browser)) == ("1 of 2 · 0 done", [])
    reload(browser)
    begin(browser, "=1+1")
    assert text(browser, "#notice") == "Please give a name of letters and digits."
    name = f"{read_key(where['key.json'])['study']}:anna"
    for kept in ("{", "null", "[1]", '{"at": 99, "answers": {"i001": {"faithfulness_A": "maybe"}, "__proto__": 3}}'):
        browser.eval(f"localStorage.setItem({json.dumps(name)}, {json.dumps(kept)})")
        reload(browser)
        begin(browser)
        assert (text(browser, "#progress"), chosen(browser)) == ("1 of 2 · 0 done", []), kept
    assert complaints(browser) == []


@pytest.mark.parametrize("kind", ["pairwise", "single"])
def test_hostile_texts_are_shown_as_they_are_and_do_nothing(browser, tmp_path, kind):
    methods = ("histalign", "trime")
    rows = [Rated(one, one, dict.fromkeys(methods, one)) for one in HOSTILE]
    of = study(rows, methods, kind, items=len(HOSTILE))
    opened(browser, tmp_path, of)
    begin(browser)
    for item in of.content["items"]:
        shown = browser.eval("[...document.querySelectorAll('#screen .text')].map((e) => e.textContent)")
        assert shown == [item["context"], *(one["text"] for one in item["texts"])]
        assert browser.eval("document.querySelectorAll('#screen .text *').length") == 0
        press(browser, *"1111"[: 2 if kind == "pairwise" else 4], "ArrowRight")
    assert text(browser, "#progress") == f"{len(HOSTILE)} done"
    assert browser.eval("window.hurt ?? null") is None
    assert complaints(browser) == []


@pytest.mark.parametrize("width", [380, 1100])
def test_nothing_is_wider_than_the_window(browser, tmp_path, width):
    opened(browser, tmp_path, made("pairwise", items=2))
    browser.size(width, 800)
    begin(browser)
    assert browser.eval("document.documentElement.scrollWidth") <= width
