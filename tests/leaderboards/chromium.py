"""A headless Chromium for tests, driven over its debugging protocol through two pipes."""

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
    "--remote-debugging-pipe", "--hide-scrollbars",
)  # fmt: skip
PATIENCE_S = 60


def installed() -> str | None:
    """Return the path of a Chromium, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Chromium:
    """One browser with one tab.

    Args:
        program: its path.
        folder: an empty one for its profile.
    """

    def __init__(self, program: str, folder: Path) -> None:
        read_end, self.to = os.pipe()
        self.frm, write_end = os.pipe()
        line = f'exec "$0" "$@" 3<&{read_end} 4>&{write_end}'
        self.process = subprocess.Popen(
            ["bash", "-c", line, program, *FLAGS, f"--user-data-dir={folder}", "about:blank"],
            pass_fds=(read_end, write_end), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(read_end)
        os.close(write_end)
        self.ids, self.buffer, self.events = itertools.count(1), b"", list[dict[str, Any]]()
        self.session: str | None = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and return its result; events that come before it are kept in `events`."""
        number = next(self.ids)
        message = {"id": number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while (found := self._next()).get("id") != number:
            self.events.append(found)
        if "error" in found:
            raise RuntimeError(f"{method}: {found['error']}")
        return dict(found["result"])

    def open(self, url: str) -> None:
        """Go to a page and wait until it is loaded."""
        self.events.clear()
        self.call("Page.navigate", url=url)
        while not any(found.get("method") == "Page.loadEventFired" for found in self.events):
            self.events.append(self._next())

    def eval(self, code: str) -> Any:
        """Return the JSON value of an expression; an exception in it is one here."""
        found = self.call("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise RuntimeError(f"{code}: {found['exceptionDetails']}")
        return found["result"].get("value")

    def text(self, selector: str) -> str | None:
        """Return the text of the first element a selector finds, or None."""
        found = self.eval(f"document.querySelector({json.dumps(selector)})?.textContent ?? null")
        return found if isinstance(found, str) else None

    def complaints(self) -> list[Any]:
        """Return exceptions, what the browser logged (such as breaches of the policy), and requests to elsewhere."""
        self.eval("1")
        bad = [e["params"] for e in self.events if e.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded")]
        sent = [e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]
        return bad + [url for url in sent if not url.startswith(("file:", "about:"))]

    def click(self, selector: str) -> None:
        """Click the middle of the first element a selector finds."""
        x, y = self.eval(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center', inline: 'center'}); const b = e.getBoundingClientRect();"
            "return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key: str, code: int, text: str = "") -> None:
        """Press a key, e.g. `press("Enter", 13, "\\r")`."""
        about = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", **about, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **about)

    def size(self, width: int, height: int) -> None:
        """Set the size of the window in CSS pixels."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 600)  # fmt: skip

    def prefers(self, scheme: str) -> None:
        """Say whether the user prefers `dark` or `light`."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def screenshot(self, whole: bool = False, **form: str | int) -> bytes:
        """Return a picture of the window, or of the whole page: a PNG, or as `format` and `quality` say."""
        return base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=whole, **form)["data"])

    def close(self) -> None:
        """End the browser."""
        self.session = None
        try:
            self.call("Browser.close")
            self.process.wait(10)
        except (OSError, RuntimeError, TimeoutError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        for end in (self.to, self.frm):
            os.close(end)

    def _next(self) -> dict[str, Any]:
        """Return the next message; they are parted by null bytes."""
        until = time.monotonic() + PATIENCE_S
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.frm], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                raise TimeoutError(f"no message from the browser within {PATIENCE_S} s")
            part = os.read(self.frm, 1 << 20)
            if not part:
                raise RuntimeError("the browser has ended")
            self.buffer += part
        message, _, self.buffer = self.buffer.partition(b"\0")
        return dict(json.loads(message))
