"""What leaves the program has no control characters, and streams pass on whole, safe lines."""

from __future__ import annotations

import io
import json
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.base import outward
from bench.base.outward import Outlet, guarded, json_text, plain, safe, safe_content, styled, visible, write_styled
from bench.errors import StoreError
from tests.bench.payloads import PAYLOADS, active

ANYTHING = st.text(st.characters(codec=None), max_size=40)
SECRET = "canary-5f2c-value"


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


def test_there_are_sixty_payloads() -> None:
    assert len(set(PAYLOADS)) == 60


@pytest.mark.parametrize("payload", PAYLOADS, ids=range(60))
@pytest.mark.parametrize("stream", [io.StringIO, Screen])
def test_no_payload_reaches_a_stream(payload: str, stream: type[io.StringIO]) -> None:
    to = stream()
    outlet = Outlet(to)
    outlet.write(f"before {payload} after\n")
    outlet.flush()
    assert not active(to.getvalue())
    assert "\r" not in to.getvalue()
    assert to.getvalue().startswith("before ")
    assert to.getvalue().endswith("fter\n")  # a cut command takes the next letter along


@given(ANYTHING)
def test_visible_text_stays_as_it_is(text: str) -> None:
    found = visible(text)
    assert not active(found)
    assert "\r" not in found
    assert visible(found) == found
    if text.isprintable():
        assert found == text


@given(ANYTHING)
def test_plain_text_is_one_line(text: str) -> None:
    assert len(plain(text).splitlines()) <= 1
    assert plain(text).isprintable()


@given(
    st.recursive(ANYTHING | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(ANYTHING, inner))
)
def test_json_says_the_same_and_has_nothing_active(content: object) -> None:
    text = json_text(content)
    assert json.loads(text) == content
    assert all("\ud800" <= c <= "\udfff" for c in active(text))  # half letters stay half letters


def test_letters_of_any_script_stay() -> None:
    text = "naïve 한국어 日本 עברית العربية emoji 👩\u200d🔬 · — ⟦x⟧"
    assert safe(text) == text
    assert text in json_text([text])


def test_a_credential_in_pieces_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_TOKEN", SECRET)
    to = io.StringIO()
    outlet = Outlet(to)
    print("password:", SECRET[:5], sep="", end="", file=outlet)
    print(SECRET[5:], "\x1b[0m", file=outlet)
    print("api_key", "=", "abc", sep="", file=outlet)
    print(f"{SECRET[:6]}\x1b[1m{SECRET[6:]}", file=outlet)
    assert to.getvalue() == "password:*** \napi_key=***\n***\n"


def test_what_waits_is_passed_on_at_the_end() -> None:
    to = io.StringIO()
    sys.stdout, before = to, sys.stdout
    try:
        with guarded():
            print("no end", end="")
            assert to.getvalue() == ""
        assert to.getvalue() == "no end"
        assert sys.stdout is to
    finally:
        sys.stdout = before


def test_each_thread_has_its_own_line() -> None:
    to = io.StringIO()
    outlet = Outlet(to)

    def say(name: str) -> None:
        for _ in range(200):
            print(name * 5, file=outlet)

    threads = [threading.Thread(target=say, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = to.getvalue().splitlines()
    assert sorted(lines) == sorted(name * 5 for name in "abcd" for _ in range(200))


def test_only_a_styled_outlet_lets_colours_pass_and_only_on_a_terminal() -> None:
    colours = "\x1b[1mbold\x1b[0m\x1b[2K\x1b[1A\x1b[?25l\x1b]0;title\x07\x1b[2J\r"
    for stream, found in ((Screen(), "\x1b[1mbold\x1b[0m\x1b[2K\x1b[1A\x1b[?25l\r"), (io.StringIO(), "bold\n")):
        outlet = styled(Outlet(stream))
        outlet.write(colours)
        outlet.flush()
        assert stream.getvalue() == found
    screen = Screen()
    sys.stdout, before = screen, sys.stdout
    try:
        with guarded():
            print("\x1b[1mx")
            write_styled("\x1b[1my\x1b[0m\n")
    finally:
        sys.stdout = before
    assert screen.getvalue() == "x\n\x1b[1my\x1b[0m\n"


def test_a_terminal_that_knows_fewer_letters_gets_their_numbers() -> None:
    raw = io.BytesIO()
    outlet = Outlet(io.TextIOWrapper(raw, encoding="ascii"))
    print("a · b 한", file=outlet)
    outlet.flush()
    assert raw.getvalue() == b"a \\xb7 b \\ud55c\n"


def test_an_outlet_is_put_up_once() -> None:
    with guarded():
        first = sys.stdout
        with guarded():
            assert sys.stdout is first
        assert sys.stdout is first
    assert not isinstance(sys.stdout, Outlet)


def test_what_a_service_gets_is_safe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_TOKEN", SECRET)
    content = {"a\x1b[1m": [f"x {SECRET}", 1.5, None], "api_key": "abc", "n_tokens": 5}
    assert safe_content(content) == {"a": ["x ***", 1.5, None], "api_key": "***", "n_tokens": 5}


def test_a_content_with_the_value_of_a_credential_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_TOKEN", SECRET)
    for content in (f"x{SECRET}".encode(), [{"id": "r1", "text": f"x {SECRET}"}], {SECRET: 1}):
        with pytest.raises(StoreError, match="this file holds the value of the credential 'SOME_TOKEN'") as found:
            outward.refuse(content, "this file")
        assert SECRET not in str(found.value)
    outward.refuse([{"password": "of nobody"}], "this file")
