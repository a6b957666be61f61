"""Forgetting: a fine-tuned model and the one it started from are compared on text that neither was fine-tuned on.

The rows are 200 passages of 40 words of WikiText-103's test split, the same for every run. Where WikiText-103 is not on
this machine the evaluation is not made, and a plan says so: other text would give another number under the same name.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from bench.config.config import CellConfig
from bench.models.backbones import find_backbone
from bench.models.core.objective import Objective
from bench.models.mle import MLE
from bench.tasks.core.example import Example
from bench.tasks.core.task import Task
from bench.tasks.encode.batches import chosen
from bench.tasks.fetch.sources import Source, resolve
from bench.tasks.files.expected_files import find
from bench.tasks.text import Text
from bench.tasks.wikitext103 import WikiText103

FORGETTING = "forgetting"
"""Kind of the evaluation, and name of the metric family over its rows."""

ROWS = 200
WORDS = 40
MAX_TOKENS = 128
MISSING = "forgetting is not measured: WikiText-103 is not on this machine (bench list --data wikitext103 --fetch)"


def general_text() -> Sequence[Example]:
    """Return the passages; none where WikiText-103 is not on this machine."""
    folder = resolve(WikiText103.name, folders=WikiText103.info.folders).folder
    file = None if folder is None else find(folder, ("wiki.test.tokens", "test.txt", "test.jsonl"))
    return () if file is None else _passages(file)


@cache
def _passages(file: Path) -> Sequence[Example]:
    task = Text(path=str(file), test_path=str(file), words=WORDS, prompt_words=WORDS - 8)
    task.load(Source(file, str(file)))
    examples = {example.id: example for example in task.split("test").examples}
    return [examples[name] for name in chosen(list(examples), ROWS)]


def start_model(config: CellConfig, task: Task) -> Objective:
    """Return the pretrained model that a run starts from, without adapters, in evaluation mode."""
    load = find_backbone(config.spec("backbone")).value.load()
    options = {**config.backbone_options, "lora_rank": 0}
    return MLE(load(config.backbone, task, config.seed, **options)).eval()
