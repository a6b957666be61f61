"""The wheel holds the five folders as one package, and nothing else; installed, it runs anywhere."""

import os
import shutil
import subprocess
import sys
import zipfile

import pytest

from tests.shipped import FOLDERS, MODULES, PROJECT, ROOT

DATA = {"bench/py.typed", "bench/leaderboards/papers/histalign.toml"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """A wheel built from a copy of the source, so that the build leaves nothing behind."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for folder in FOLDERS.values():
        shutil.copytree(ROOT / folder, source / folder, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for file in ("pyproject.toml", PROJECT["project"]["readme"], *PROJECT["project"]["license-files"]):
        shutil.copy(ROOT / file, source / file)
    pip("wheel", "--no-build-isolation", "--no-deps", "--no-index", "-w", str(out), str(source))
    (found,) = out.glob("*.whl")
    return found


def pip(*arguments):
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def names(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if not name.endswith("/")}


def test_the_wheel_holds_every_module_under_its_shipped_name(wheel):
    expected = {
        f"{name.replace('.', '/')}{'/__init__' if path.stem == '__init__' else ''}.py" for name, path in MODULES.items()
    }
    assert {name for name in names(wheel) if name.endswith(".py")} == expected


def test_the_wheel_holds_data_and_type_marker(wheel):
    papers = {f"bench/leaderboards/papers/{path.name}" for path in (ROOT / "leaderboards" / "papers").glob("*.toml")}
    others = {name for name in names(wheel) if not name.endswith(".py") and ".dist-info/" not in name}
    page = {f"bench/leaderboards/page/{path.name}" for path in (ROOT / "leaderboards" / "page").iterdir()}
    samples = {f"bench/tasks/samples/{path.name}" for path in (ROOT / "tasks" / "samples").glob("*.jsonl")}
    assert others >= DATA | papers | page | samples | {"bench/leaderboards/board.schema.json"}
    assert {name for name in others if name.endswith(".json")} == {"bench/leaderboards/board.schema.json"}
    endings = (".toml", "py.typed", ".json", ".html", ".css", ".js", ".jsonl")
    assert all(name.endswith(endings) for name in others)


def test_only_bench_and_its_metadata_are_installed(wheel):
    version = PROJECT["project"]["version"]
    assert {name.partition("/")[0] for name in names(wheel)} == {"bench", f"objective_bench-{version}.dist-info"}


def installed(tmp_path):
    """What runs the package below `site` in another folder, which has folders of the names that were mapped."""
    site, elsewhere = tmp_path / "site", tmp_path / "elsewhere"
    for decoy in ("tasks", "models", "metrics", "leaderboards", "bench_data"):
        (elsewhere / decoy).mkdir(parents=True)
        (elsewhere / decoy / "__init__.py").write_text("raise SystemExit('a decoy was imported')")
    code = (
        f"import sys; sys.meta_path[:] = [f for f in sys.meta_path if 'editable' not in repr(f).lower()]\n"
        f"import bench, bench.tasks; assert bench.__file__.startswith({str(site)!r}), bench.__file__\n"
        f"assert bench.tasks.__file__.startswith({str(site)!r}), bench.tasks.__file__\n"
        "from bench.cli import main; sys.exit(main())"
    )
    environment = {
        **os.environ,
        "PYTHONPATH": str(site),
        "BENCH_DATA": "",
        "BENCH_CACHE": str(tmp_path / "cache"),
        "HF_HUB_OFFLINE": "1",
    }

    def run(*arguments, module=False):
        program = ["-c", code]
        if module:
            program = ["-m", "bench"]
        command = [sys.executable, *program, *arguments]
        return subprocess.run(command, cwd=elsewhere, env=environment, capture_output=True, text=True, check=False)

    return run


def test_the_wheel_runs_where_it_is_unpacked(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    listed = installed(tmp_path)("list")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert "  histalign" in listed.stdout


@pytest.mark.slow
def test_the_installed_wheel_runs_among_folders_of_the_same_names(wheel, tmp_path):
    pip("install", "--no-deps", "--no-index", "--target", str(tmp_path / "site"), str(wheel))
    run = installed(tmp_path)
    listed = run("list", module=True)
    assert (listed.returncode, listed.stderr) == (0, "")
    assert "  histalign" in listed.stdout
    planned = run("run", "--task", "all", "--method", "all", "--preset", "small", "--limit", "4", "--dry-run")
    assert planned.returncode == 0, planned.stderr
    ended = run("run", "--task", "ambiguous_template", "--method", "mle", "--preset", "small", "--limit", "8",
                "--quiet", "--set", "trainer.steps=1", "trainer.batch_size=4")  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert "ambiguous_template" in ended.stdout
