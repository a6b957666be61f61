"""`make` finds a Python that works, whatever names stand on the path; and both names of the program are one."""

import os
import shutil
import subprocess
import sys
import tomllib

import pytest

from tests.shipped import ROOT

MAKE = shutil.which("make")
NEVER = "#!/bin/sh\necho 'this version is not installed' >&2\nexit 127\n"
"""A shim of a version manager for a version that is not there."""

OLD = f"#!/bin/sh\nexec {sys.executable} -c 'import sys; sys.version_info = (3, 10, 0); exec(sys.argv[1])' \"$2\"\n"
BARE = f'#!/bin/sh\nexec {sys.executable} -c \'import sys; sys.modules["venv"] = None; exec(sys.argv[1])\' "$2"\n'
"""Pythons of another version, or without the module venv."""

GOOD = f'#!/bin/sh\nexec {sys.executable} "$@"\n'


def make(folder, scripts, *arguments):
    """Run make in a folder where these programs are the only ones on the path."""
    for name, text in scripts.items():
        path = folder / name
        path.write_text(text)
        path.chmod(0o755)
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, folder)
    outer = ("PYTHON", "MAKEFLAGS", "MAKELEVEL", "MFLAGS")  # these tests may themselves be run by make
    environment = {name: value for name, value in os.environ.items() if name not in outer}
    environment["PATH"] = str(folder)
    command = [MAKE, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.skipif(MAKE is None, reason="needs make")
@pytest.mark.parametrize(
    ("scripts", "chosen"),
    [
        ({"python3.11": GOOD}, "python3.11"),
        ({"python3.11": GOOD, "python3.12": GOOD, "python3.13": NEVER}, "python3.12"),
        ({"python3.13": BARE, "python3": GOOD}, "python3"),
        ({"python3": OLD, "python": GOOD}, "python"),
        ({"python3.11": NEVER, "python3": OLD}, ""),
    ],
)
def test_make_takes_the_newest_python_that_works(tmp_path, scripts, chosen):
    ended = make(tmp_path, scripts, "--eval", "show: ; @echo '[$(PYTHON)]';", "show")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, f"[{chosen}]\n", "")


@pytest.mark.skipif(MAKE is None, reason="needs make")
@pytest.mark.parametrize("environment", [".venv", ".venv-docs"])
def test_make_says_plainly_that_no_python_works_and_takes_the_one_it_is_given(tmp_path, environment):
    ended = make(tmp_path, {"python3": NEVER}, f"{environment}/ready")
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert ended.stderr.startswith("No Python 3.11, 3.12 or 3.13 with the module venv works here. Install one, or name")
    named = make(tmp_path, {"python3": NEVER}, "-n", f"{environment}/ready", "PYTHON=/opt/mine")
    assert f"/opt/mine -m venv {environment}\n" in named.stdout


def test_the_program_has_two_names():
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts == {"bench": "bench.cli:program", "objective-bench": "bench.cli:program"}
