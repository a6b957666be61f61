"""The pictures of the documentation: of the sizes they say, small, and the terminal's as it is now."""

import pytest

from tools.pictures import COLUMNS, SCHEMES, SCREENS, TERMINAL, _runs, page_path, terminal_picture

LIMIT_BYTES = 100_000


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("screen", SCREENS)
def test_the_page_is_drawn_at_every_width(screen, scheme):
    content = page_path(screen[0], scheme).read_bytes()
    assert (content[:4], content[8:16]) == (b"RIFF", b"WEBPVP8X")
    width, height = content[24:27], content[27:30]  # each less one, in three bytes: RFC 9649, section 2.7
    assert (int.from_bytes(width, "little") + 1, int.from_bytes(height, "little") + 1) == screen
    assert len(content) <= LIMIT_BYTES


def test_the_terminal_shows_what_the_command_prints_on_80_columns():
    made = terminal_picture()
    assert TERMINAL.read_text(encoding="utf-8") == made, "behind: make boards"
    assert len(made.encode()) <= LIMIT_BYTES
    assert "http" not in made.replace("http://www.w3.org/2000/svg", "")


def test_a_run_of_one_style_is_one_text_at_its_column():
    styles = set()
    first = _runs("ab \x1b[1mc<\x1b[0m \x1b[2;4md", 10, styles)
    assert [text.partition(">")[2] for text in first] == ["ab </text>", "c&lt;</text>", "d</text>"]
    assert 'style="font-weight:bold"' in first[1]
    assert 'x="41.29"' in first[1]  # after three characters
    assert 'style="opacity:.7;text-decoration:underline"' in first[2]
    assert "opacity" in _runs("e", 20, styles)[0]  # goes on in the next line
    assert COLUMNS == 80
