"""What tests of pages share."""

from collections.abc import Iterator

import pytest

from tests.leaderboards.chromium import Chromium, installed


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """One browser for all tests."""
    started = Chromium(installed(), tmp_path_factory.mktemp("profile"))
    yield started
    started.close()


@pytest.fixture(scope="module")
def browser(chromium: Chromium) -> Chromium:
    """The browser, as no file before has left it."""
    chromium.first_visit()
    return chromium
