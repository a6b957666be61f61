"""What tests of pages share."""

from collections.abc import Iterator

import pytest

from tests.leaderboards.chromium import Chromium, installed


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """One browser for all tests of a file."""
    started = Chromium(installed(), tmp_path_factory.mktemp("profile"))
    yield started
    started.close()
