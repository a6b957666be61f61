"""Run what a page shows: its Python blocks and its commands, in order, small, in a folder of their own."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.tasks import TASKS
from tests.conftest import Ended, call
from tools.site.pages import ROOT, Block, Page, page

SMALL = ("--set", "trainer.steps=3", "trainer.batch_size=4", "evaluation.rows=6", "--quiet")
"""What is added to commands that train: a cell in a second."""
SMALLER = {
    r"--items \d+": "--items 3",
    r"--seeds [\d,]+": "--seeds 0",
    r"(--method )(?:all|papers)\b": r"\1mle,trime",
    r"--task all (.*--preset paper)": r"--task logicnlg \1",
    r"execution.log_dir=\S+": "execution.log_dir=logs",
    r"--logger wandb": "--logger lightning.pytorch.loggers:CSVLogger",
    r"(check \w+\.py:\w+)$": r"\1 --quick",
    r"(reproduce \w+/table\d)$": r"\1 --limit 6 --quiet --set trainer.steps=3 trainer.batch_size=4",
}
"""The same command at a size that a test has time for."""
NOT_RUN = {
    "bench human import": "reads what people answered: tests/bench/commands/test_human.py",
    "--fetch": "is a download: tests/tasks/fetch",
    " FOLDER": "is any model of transformers: tests/bench/integrations",
    "--backbone llama2-7b": "takes eight GPUs, or one large one, and the weights",
}
"""Parts of commands that are only parsed here, and why."""
NEEDS = ("task.hub=EdinburghNLP", "task.hub=Salesforce")
"""What no test machine has: a model or a data set of the hub. Such a command ends with 3 and says what is missing."""
ANSWERS = ("bench compare",)
"""Commands that end with 1 where the answer is no."""
FIRST = {
    "metrics/README.md": "bench run --task logicnlg --method mle",
}
"""What is run before a page that reads a store."""


def why_not_run(command: str) -> str | None:
    """Return why a command is only parsed, or None."""
    for part, why in NOT_RUN.items():
        if part in command:
            return why
    return None


@dataclass(frozen=True)
class Sandbox:
    """A folder in which a page is run; it must be the current folder, and on the import path.

    Args:
        folder: empty; the repository's snapshots are put in.
    """

    folder: Path

    def prepare(self) -> None:
        """Put in what pages speak of: the snapshots, README's method, a text, a table, texts of another system."""
        (self.folder / "leaderboards").symlink_to(ROOT / "leaderboards")
        words = ("one", "two", "three", "four", "five", "six", "seven")
        texts = [f"the {words[n % 7]} foxes ran {words[n % 5]} times over hill {n} . " * 6 for n in range(60)]
        (self.folder / "my.txt").write_text("\n\n".join(texts) + "\n", encoding="utf-8")
        rows = [f"what is town {n}?,{words[n % 7]}" for n in range(60)]
        (self.folder / "my.csv").write_text("\n".join(["question,answer", *rows]) + "\n", encoding="utf-8")
        outputs = [json.dumps({"id": name, "text": "a fox"}) for name in _rows("logicnlg")]
        (self.folder / "outputs.jsonl").write_text("\n".join(outputs) + "\n", encoding="utf-8")
        self.write_files(page("README.md"))

    def write_files(self, found: Page) -> None:
        """Write the blocks of a page that are files."""
        for block in found.blocks:
            if block.file is not None:
                name, text = block.file
                (self.folder / name).write_text(text, encoding="utf-8")

    def run(self, block: Block) -> list[str]:
        """Run the commands of a block; return what went wrong, a text each."""
        return [wrong for command in block.commands if block.is_run and (wrong := self.tried(command))]

    def tried(self, command: str) -> str:
        """Run a command; return what went wrong, or nothing."""
        if why_not_run(command):
            return ""
        if "other/results" in command:
            shutil.copytree(self.folder / "results", self.folder / "other" / "results")
        words = self.words_of(command)
        ended = call(*words)
        if ended.code in expected(command):
            return ""
        return f"{command}\n  run as {shlex.join(words)}\n  ended with {ended.code}\n{_end(ended)}"

    def words_of(self, command: str) -> list[str]:
        """Return the words behind `bench`, small, with keys and ids of what is stored."""
        for long, short in SMALLER.items():
            command = re.sub(long, short, command)
        command = re.sub(r"results/([\w.]+)/([\w.]+)/<key>", self._key, command)
        if "<id>" in command:
            command = command.replace("<id>", _row(command))
        words = shlex.split(command)[1:]
        if words[0] == "run" and "--dry-run" not in words:
            words += SMALL
        return words

    def _key(self, found: re.Match[str]) -> str:
        """Return the folder of the first cell of a task and a method that has test rows."""
        cells = sorted((self.folder / "results" / found[1] / found[2]).iterdir())
        (first, *_) = (cell for cell in cells if "evaluation.split: test" in (cell / "config.yaml").read_text())
        return first.relative_to(self.folder).as_posix()


def expected(command: str) -> Sequence[int]:
    """Return the exit codes that a command may end with here."""
    if any(need in command for need in NEEDS):
        return (3,)
    if command.startswith(ANSWERS):
        return (0, 1)
    return (0,)


def _row(command: str) -> str:
    """Return the id of the first test row of the task that a command is about."""
    (name,) = re.findall(r"(?:results/|data show )(\w+)", command)
    return _rows(name)[0]


def _rows(task: str) -> list[str]:
    """Return the ids of the test rows of a task."""
    return [str(example.id) for example in TASKS[task].load()().split("test").examples]


def _end(ended: Ended) -> str:
    return "\n".join([*ended.out.splitlines()[-5:], *ended.err.splitlines()[-15:]])


def forget(folder: Path) -> None:
    """Forget the modules that were imported from a folder."""
    for name, module in list(sys.modules.items()):
        origin = getattr(module, "__file__", None)
        if origin is not None and Path(origin).is_relative_to(folder):
            del sys.modules[name]
