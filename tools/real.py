"""`python -m tools.real`: HistAlign's Table 1 with a pretrained model, on two cores in 40 minutes; `make real`.

SmolLM2-135M is fine-tuned on Ambiguous Template by maximum likelihood, TRIME and HistAlign, the latter two as in
HistAlign's released code, with one seed at the preset `mid`; the model before fine-tuning is evaluated, too. Rows are
those of BENCH_DATA. Where it has none, the word pairs are those that the package gensim carries for its tests, the same
file as the papers', in this project's sentences: such rows are marked `proxy`. The same command goes on where it was
ended.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from bench.base.files import write_atomic
from bench.base.machine import cache_root
from bench.cli import main as bench
from bench.errors import BenchError, MissingError
from bench.tasks.ambiguous_template import sample_templates
from bench.tasks.fetch.sources import resolve

TASK, MODEL = "ambiguous_template", "smollm2-135m-instruct-q4"
METHODS = "histalign.released,trime.released,mle,mle.untrained"
EVALUATED = ("--set", "evaluation.rows=500")
"""A quarter of the preset's rows: the command is a first look, and leaves a core for the user."""

GENSIM = "gensim==4.3.3"
SHA256 = "d662bf96e3d741b6ab61a54be842a7cbf5e45193008b2f4225c758cafd7f9cdc"
WHEEL = ("--platform", "manylinux_2_17_x86_64", "--implementation", "cp", "--python-version", "3.11", "--abi", "cp311")
"""One wheel for all machines, since only a text is read from it."""
PAIRS = "questions-words.txt"
MEMBER = f"gensim/test/test_data/{PAIRS}"


def word_pairs() -> bytes:
    """Return the word pairs that gensim's wheel carries; pip compares its hash, and nothing is installed.

    Raises:
        MissingError: the package index cannot be reached.
    """
    with tempfile.TemporaryDirectory() as folder:
        requirements = Path(folder) / "requirements.txt"
        requirements.write_text(f"{GENSIM} --hash=sha256:{SHA256}\n")
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        command += ["--only-binary", ":all:", *WHEEL, "--require-hashes", "--dest", folder, "-r", str(requirements)]
        ended = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
        wheels = list(Path(folder).glob("*.whl"))
        if ended.returncode or not wheels:
            raise MissingError(
                f"pip cannot download {GENSIM}, whose tests have the word pairs ({' '.join(ended.stderr.split())}); "
                f"set BENCH_DATA to a folder that holds {TASK}/{PAIRS} and {TASK}/templates.json"
            )
        with zipfile.ZipFile(wheels[0]) as wheel:
            return wheel.read(MEMBER)


def proxy_rows() -> Path:
    """Return a folder of data with rows of Ambiguous Template in this project's sentences, made on the first call."""
    folder = cache_root() / "real"
    if not (folder / TASK / PAIRS).is_file():
        write_atomic(folder / TASK / "templates.json", json.dumps(sample_templates(), indent=1).encode(), replace=True)
        write_atomic(folder / TASK / PAIRS, word_pairs(), replace=True)
    return folder


def main(arguments: Sequence[str] | None = None) -> int:
    """Get the model and rows, train, and print the table; return the exit code.

    Args:
        arguments: further options of `bench run`.
    """
    if arguments is None:
        arguments = sys.argv[1:]
    if code := bench(["models", "get", MODEL]):
        return code
    try:
        where = () if resolve(TASK).folder else ("--data-dir", str(proxy_rows()))
    except BenchError as error:
        print(f"bench: {error}", file=sys.stderr)
        return error.exit_code
    run = ["run", "--task", TASK, "--preset", "mid", "--method", METHODS, "--no-controls", "--seeds", "0"]
    return bench([*run, *where, *EVALUATED, *arguments])


if __name__ == "__main__":
    sys.exit(main())
