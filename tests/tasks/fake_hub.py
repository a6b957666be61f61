"""A hub on this machine: the addresses that are asked, with every way they can fail."""

import hashlib
import io
import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import huggingface_hub.constants
import pyarrow as pa
import pyarrow.parquet
import pytest

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def parquet(rows: list[dict[str, Any]] | pa.Table, row_group: int | None = None) -> bytes:
    """Rows as the bytes of a parquet file."""
    table = rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(rows)
    file = io.BytesIO()
    pyarrow.parquet.write_table(table, file, row_group_size=row_group)
    return file.getvalue()


@dataclass
class FakeHub:
    """One repository of data sets, or with `kind="models"` of a model.

    `refuse` answers a kind of request ("list", "tree", "refs", "HEAD", "GET") with a status and the hub's name of the
    error; `asleep` is the request that is not answered; `listed` are files the listing describes otherwise than they
    are served.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    repository: str = "owner/rows"
    kind: str = "datasets"
    branches: dict[str, str] = field(default_factory=lambda: {"main": COMMIT})
    refuse: dict[str, tuple[int, str]] = field(default_factory=dict)
    listed: dict[str, bytes] = field(default_factory=dict)
    asleep: str = ""
    asked: Counter[str] = field(default_factory=Counter)
    closing: threading.Event = field(default_factory=threading.Event)

    def start(self) -> str:
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                pass

            def do_GET(self) -> None:
                hub.answer(self)

            do_HEAD = do_POST = do_GET

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        return f"http://127.0.0.1:{self.server.server_port}"

    def stop(self) -> None:
        self.closing.set()
        self.server.shutdown()
        self.server.server_close()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        path = unquote(urlsplit(request.path).path)
        listing, resolve = f"/api/{self.kind}/{self.repository}", f"/{self.kind}/{self.repository}/resolve/"
        if self.kind == "models":
            resolve = f"/{self.repository}/resolve/"
        kind = request.command
        if path.startswith(listing):
            kind = {"tree": "tree", "paths-info": "tree", "refs": "refs"}.get(
                path[len(listing) + 1 :].partition("/")[0], "list"
            )
        if not path.startswith((listing, resolve)):
            return self.send(request, 404, b"")
        key = kind
        if path.startswith(resolve):
            key = f"{kind} {path.removeprefix(resolve).partition('/')[2]}"
        self.asked[key] += 1
        if self.asleep in (kind, key):
            while self.asleep in (kind, key) and not self.closing.wait(0.05):
                pass
            request.close_connection = True
            return None
        if refused := self.refuse.get(kind) or self.refuse.get(key):
            status, name = refused
            return self.send(request, status, b"", {"X-Error-Code": name, "X-Error-Message": f"{name} it says"})
        if kind == "list":
            return self.list(request, path.removeprefix(listing).removeprefix("/revision/") or "main")
        if kind == "tree":
            return self.tree(request, *path.removeprefix(f"{listing}/").split("/", 2))
        if kind == "refs":
            branches = [
                {"name": name, "ref": f"refs/heads/{name}", "targetCommit": at} for name, at in self.branches.items()
            ]
            return self.json(request, {"branches": branches, "tags": [], "converts": []})
        return self.file(request, *path.removeprefix(resolve).split("/", 1))

    def list(self, request: BaseHTTPRequestHandler, revision: str) -> None:
        commit = revision if revision in self.branches.values() else self.branches.get(revision)
        if commit is None:
            return self.send(request, 404, b"", {"X-Error-Code": "RevisionNotFound"})
        siblings = [{"rfilename": name, "size": len(body), "blobId": "b", "lfs": {
            "sha256": hashlib.sha256(body).hexdigest(), "size": len(body), "pointerSize": 134}}
            for name, body in {**self.files, **self.listed}.items()]  # fmt: skip
        return self.json(request, {"id": self.repository, "sha": commit, "siblings": siblings})

    def tree(self, request: BaseHTTPRequestHandler, kind: str, commit: str, folder: str = "") -> None:
        """The entries of a folder, or those of some paths that are asked for."""
        entries: dict[str, dict[str, Any]] = {}
        for name, body in self.files.items():
            entries[name] = {"type": "file", "path": name, "size": len(body), "oid": "b"}
            for above in Path(name).parents[:-1]:
                entries[str(above)] = {"type": "directory", "path": str(above), "size": 0, "oid": "d"}
        if kind == "paths-info":
            wanted = parse_qs(request.rfile.read(int(request.headers["Content-Length"])).decode())["paths"]
            return self.json(request, [entries[name] for name in wanted if name in entries])
        recursive = "recursive=true" in request.path.lower()
        inside = [entry for name, entry in entries.items() if Path(folder) in Path(name).parents]
        if folder and not inside:
            return self.send(request, 404, b"", {"X-Error-Code": "EntryNotFound"})
        return self.json(request, [e for e in inside if recursive or Path(e["path"]).parent == Path(folder)])

    def json(self, request: BaseHTTPRequestHandler, content: Any) -> None:
        self.send(request, 200, json.dumps(content).encode(), {"Content-Type": "application/json"})

    def file(self, request: BaseHTTPRequestHandler, commit: str, name: str) -> None:
        body, status = self.files.get(name), 200
        if body is None:
            return self.send(request, 404, b"", {"X-Error-Code": "EntryNotFound"})
        digest = hashlib.sha256(body).hexdigest()
        if begin := request.headers.get("Range", "").removeprefix("bytes=").partition("-")[0]:
            self.asked[f"GET {name} from {begin}"] += 1
            body, status = body[int(begin) :], 206
        return self.send(
            request, status, body, {"X-Repo-Commit": self.branches.get(commit, commit), "ETag": f'"{digest}"'}
        )

    def send(
        self, request: BaseHTTPRequestHandler, status: int, body: bytes, headers: dict[str, str] | None = None
    ) -> None:
        request.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            request.send_header(name, value)
        request.end_headers()
        if request.command != "HEAD":
            request.wfile.write(body)


@contextmanager
def serving(hub: FakeHub, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    """Let this process and its children take `hub` for the hub, with the hub's cache below `folder`."""
    monkeypatch.setenv("HF_ENDPOINT", hub.start())
    monkeypatch.setenv("HF_HOME", str(folder))
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(folder / "hub"))
    try:
        yield hub
    finally:
        hub.stop()
