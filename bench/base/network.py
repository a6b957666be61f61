"""Network: whether the model hub can be asked at all."""

from __future__ import annotations

import os
import socket
from urllib.parse import urlparse

PORTS = {"http": 80, "https": 443}


def hub_reachable(timeout: float = 3.0) -> bool:
    """Return whether the hub answers at all, so that a closed network costs seconds, not minutes of retries."""
    if os.environ.get("HF_HUB_OFFLINE", "") not in ("", "0"):
        return False
    endpoint = urlparse(os.environ.get("HF_ENDPOINT", "https://huggingface.co"))
    port = endpoint.port or PORTS.get(endpoint.scheme, 80)
    try:
        with socket.create_connection((endpoint.hostname or "", port), timeout=timeout):
            return True
    except OSError:
        return False
