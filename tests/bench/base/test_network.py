"""The hub answers, refuses, or keeps silent: nobody waits long for it, and nobody waits twice."""

import http.server
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import transformers

from bench.base import network
from bench.base.network import hub_reachable, within
from bench.errors import MissingError
from bench.models.backbones import hub as hub_module

PATIENCE_S = 0.3


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The network may be asked, and nothing is remembered."""
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr(network, "_SILENT", {})
    monkeypatch.setattr(network, "ANSWER_S", PATIENCE_S)


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """A hub that accepts and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.getsockname()[1]}")
        yield server


@pytest.mark.parametrize(("name", "value", "offline"), [
    ("HF_HUB_OFFLINE", "1", True), ("HF_HUB_OFFLINE", "true", True), ("TRANSFORMERS_OFFLINE", "1", True),
    ("HF_HUB_OFFLINE", "0", False), ("HF_HUB_OFFLINE", "false", False), ("HF_HUB_OFFLINE", "", False),
])  # fmt: skip
def test_the_network_is_off_where_it_is_for_the_library_of_the_hub(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, offline: bool
) -> None:
    monkeypatch.delenv("TRANSFORMERS_OFFLINE", raising=False)
    monkeypatch.setenv(name, value)
    asked = subprocess.run(
        [sys.executable, "-c", "from huggingface_hub import constants; print(constants.HF_HUB_OFFLINE)"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert (network.is_offline(), asked.stdout) == (offline, f"{offline}\n")


class Answers(http.server.BaseHTTPRequestHandler):
    """A hub that says one status to everything."""

    status = 200

    def do_HEAD(self) -> None:
        self.send_response(self.status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.mark.parametrize("status", [200, 401, 404, 503])
def test_any_answer_is_an_answer(monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    monkeypatch.setattr(Answers, "status", status)
    with http.server.HTTPServer(("127.0.0.1", 0), Answers) as server:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        threading.Thread(target=server.handle_request, daemon=True).start()
        assert hub_reachable()


def test_a_hub_that_accepts_and_never_answers_is_asked_once(silent: socket.socket) -> None:
    began = time.monotonic()
    assert not hub_reachable()
    assert PATIENCE_S <= time.monotonic() - began < PATIENCE_S + 1
    began = time.monotonic()
    assert not any(hub_reachable() for _ in range(20))
    assert time.monotonic() - began < PATIENCE_S


@pytest.mark.parametrize("endpoint", ["http://127.0.0.1:9", "http://[broken", "no address", "http://127.0.0.1:99999"])
def test_a_refusal_costs_nothing(monkeypatch: pytest.MonkeyPatch, endpoint: str) -> None:
    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    began = time.monotonic()
    assert not hub_reachable()
    assert time.monotonic() - began < 1


def test_a_hub_that_hangs_after_its_first_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the model is looked for in the cache, and missed in one line."""
    asked = []

    def hanging(place: str, **options: Any) -> Any:
        asked.append(options)
        if not options.get("local_files_only"):
            time.sleep(2)
        raise OSError("not in the cache")

    monkeypatch.setattr(transformers.AutoConfig, "from_pretrained", hanging)
    monkeypatch.setattr(hub_module, "hub_reachable", lambda: True)
    monkeypatch.setattr(hub_module, "ANSWER_S", PATIENCE_S)
    began = time.monotonic()
    with pytest.raises(MissingError, match="nobody/no-model.*not in the cache.*backbone.path=FOLDER"):
        hub_module.architecture("nobody/no-model")
    assert time.monotonic() - began < PATIENCE_S + 1
    assert [options.get("local_files_only", False) for options in asked] == [False, True]


def test_within_returns_raises_or_gives_up() -> None:
    assert within(5, lambda: 3) == 3
    with pytest.raises(KeyError):
        within(5, lambda: {}[1])
    with pytest.raises(TimeoutError, match=r"no answer within 0.05 s"):
        within(0.05, lambda: time.sleep(1))
