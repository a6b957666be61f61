"""Time, memory and disk of data at the size of the papers, on made-up rows.

    python tools/benchmarks/full_size.py [--folder /somewhere] [--scale 0.005] [--tasks gigaword,wikitext103]
        [--stages prepare,tokenise,batch,workers,retrieve] [--retrieve 40000,160000]

Rows are drawn from a Zipf law over as many types as the published text has, with its numbers of rows and of words in a
row; one row in eleven of Gigaword repeats an earlier source, as in the part of it that can be had. They are made once,
slice by slice: what was killed goes on where it was. `--scale` takes a share of the rows.

Each stage runs in a process of its own, in this order:

    prepare    read the publisher's files, count and hash the rows
    tokenise   train a BPE of the recipe's size on them, and encode all of them
    batch      in a new process, with the caches there: from nothing to the first training batch
    workers    four processes that hold rows and tokens at once; what these take, shared pages counted once
    retrieve   exemplars of all training rows, for each number given; the exponent, and what all rows would take

Memory is the most that a process had (peak, with mapped files), and what it had for itself at its end (own). Disk is
what a stage left in the cache. Processor time is what a busy machine leaves comparable.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

SLICE = 20_000  # rows
LETTERS = "etaoinshrdlcumwfgypbvkjxqz"
WORKERS = 4
STAGES = ("prepare", "tokenise", "batch", "workers", "retrieve")


@dataclass(frozen=True)
class Text:
    """Published statistics of a training split.

    Args:
        rows: how many.
        source: words of a source, mean and standard deviation.
        target: words of a target, likewise.
        types: different words.
        files: that the training rows are written to.
        vocabulary: of the recipe's tokenizer.
        longest: source and target tokens of the recipe.
        repeated: one row in so many has the source of another; 0 for none.
    """

    rows: int
    source: tuple[float, float]
    target: tuple[float, float]
    types: int
    files: tuple[str, ...]
    vocabulary: int
    longest: tuple[int, int]
    repeated: int = 0


TEXTS = {
    # Rush et al. 2015, table 1 and section 5; Narayan et al. 2018, table 1; See et al. 2017; Merity et al. 2017.
    "gigaword": Text(3_803_957, (31.4, 9), (8.3, 2.5), 119_000, ("train.article.txt", "train.title.txt"), 25_000,
                     (200, 50), repeated=11),
    "xsum": Text(204_045, (431.1, 320), (23.3, 6), 399_147, ("train.jsonl",), 30_000, (1024, 64)),
    "cnndm": Text(287_113, (781, 390), (56, 20), 717_951, ("train.jsonl",), 30_000, (1024, 128)),
    "wikitext103": Text(28_475, (0, 0), (3_625, 3_000), 267_735, ("wiki.train.tokens",), 30_000, (100, 1023)),
}  # fmt: skip


# Making rows ----------------------------------------------------------------------------------------------------------


def spelt(types: int) -> list[str]:
    """Return words by falling frequency, short ones first; the mean length of running text is about 4.7 letters."""
    generator = np.random.default_rng(7)
    words, seen = [], set()
    for rank in range(1, types + 1):
        length = max(1, round(0.6 + 0.585 * math.log2(rank + 1) * generator.uniform(0.7, 1.1)))
        word = "".join(LETTERS[at] for at in (26 * generator.random(length) ** 1.7).astype(int))
        while word in seen:
            word += LETTERS[int(26 * generator.random())]
        seen.add(word)
        words.append(word)
    return words


def lengths_of(law: tuple[float, float], n: int, generator: np.random.Generator) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Draw numbers of words, [n]; a gamma law with the mean and spread given."""
    mean, spread = law
    if not mean:
        return np.zeros(n, np.int64)
    shape = (mean / spread) ** 2
    return np.maximum(2, generator.gamma(shape, mean / shape, n)).astype(np.int64)


def drawn(lengths: Any, types: int, words: Any, generator: np.random.Generator) -> list[str]:
    """Draw texts of so many words each."""
    weights = np.cumsum(1 / np.arange(1, types + 1))
    ranks = np.searchsorted(weights, generator.random(int(lengths.sum())) * weights[-1])
    parts = np.split(words[ranks], np.cumsum(lengths)[:-1])
    return [" ".join(part) for part in parts]


def slice_of(name: str, number: int, rows: int, words: Any) -> list[list[str]]:
    """Return the lines of each file for a slice of rows."""
    text, generator = TEXTS[name], np.random.default_rng([5, number + 1, sum(name.encode())])
    sources = drawn(lengths_of(text.source, rows, generator), text.types, words, generator)
    targets = drawn(lengths_of(text.target, rows, generator), text.types, words, generator)
    if text.repeated:
        for row in range(text.repeated, rows, text.repeated):
            sources[row] = sources[row - 1 - int(generator.integers(text.repeated - 1))]
    if name == "gigaword":
        return [[f"{source} .\n" for source in sources], [f"{target}\n" for target in targets]]
    if name == "wikitext103":
        return [[f" \n = {target[:20]} = \n \n {target} . \n" for target in targets]]
    fields = {"xsum": ("document", "summary"), "cnndm": ("article", "highlights")}[name]
    lines = []
    for row, pair in enumerate(zip(sources, targets, strict=True)):
        lines.append(json.dumps({"id": f"{number}-{row}", **dict(zip(fields, pair, strict=True))}) + "\n")
    return [lines]


def make(folder: Path, name: str, scale: float) -> int:
    """Write the training files of a task, going on after the last whole slice; return the number of rows."""
    text, rows = TEXTS[name], max(200, round(TEXTS[name].rows * scale))
    folder.mkdir(parents=True, exist_ok=True)
    state = folder / "made.json"
    made = {"slices": 0, "sizes": [0] * len(text.files)}
    if state.exists():
        made = json.loads(state.read_text())
    slices = -(-rows // SLICE)
    if made["slices"] == slices:
        return rows
    words = np.array(spelt(text.types), object)
    if text.files == ("train.jsonl",):  # their readers look for training rows that are test rows too
        (folder / "test.jsonl").write_text("".join(slice_of(name, -1, 100, words)[0]))
    for number in range(made["slices"], slices):
        lines = slice_of(name, number, min(SLICE, rows - number * SLICE), words)
        for at, (file, content) in enumerate(zip(text.files, lines, strict=True)):
            with open(folder / file, "r+b" if made["sizes"][at] else "wb") as stream:
                stream.seek(made["sizes"][at])
                stream.truncate()
                stream.write("".join(content).encode())
                made["sizes"][at] = stream.tell()
        made["slices"] = number + 1
        state.write_text(json.dumps(made))
    return rows


# Stages, each in a process of its own ---------------------------------------------------------------------------------


def loaded(name: str, folder: Path) -> Any:
    """Return the task with its rows."""
    from bench.tasks import TASKS
    from bench.tasks.fetch.sources import Source

    task = TASKS[name].load()()
    task.load(Source(folder, "made up"))
    return task


def codec_of(task: Any, name: str, folder: Path) -> Any:
    """Return the codec of the task's recipe; its tokenizer is trained once."""
    from transformers import PreTrainedTokenizerFast

    from bench.tasks.encode.codec import Codec

    kept = folder / "tokenizer"
    if not kept.is_dir():
        task.tokenizer(TEXTS[name].vocabulary).save_pretrained(kept)
    architecture = "decoder-only" if name == "wikitext103" else "encoder-decoder"
    return Codec(PreTrainedTokenizerFast.from_pretrained(kept), architecture, *TEXTS[name].longest)


def prepare(name: str, folder: Path) -> dict[str, Any]:
    """Read, count and hash the rows."""
    times = Times()
    task = loaded(name, folder)
    n = len(task.split("train").examples)
    times.next("read")
    task.manifest("train")
    times.next("hash")
    return {"rows": n, **times.seconds}


def tokenise(name: str, folder: Path) -> dict[str, Any]:
    """Train a tokenizer and encode all rows."""
    task = loaded(name, folder)
    task.manifest("train")
    times = Times()
    codec = codec_of(task, name, folder)
    times.next("train BPE")
    rows = task.encoded("train", codec)
    times.next("encode")
    return {"rows": len(rows), **times.seconds}


def batch(name: str, folder: Path) -> dict[str, Any]:
    """Make the first training batch."""
    from bench.tasks.core.task import LoaderConfig

    task = loaded(name, folder)
    task.setup_run(LoaderConfig(codec_of(task, name, folder), batch=32))
    first = next(iter(task.train_dataloader()))
    return {"tokens": int(first["step_tokens"])}


def worker(name: str, folder: Path) -> dict[str, Any]:
    """Hold rows, and tokens where they are there, look at all of them, and wait for the others."""
    task = loaded(name, folder)
    codec = codec_of(task, name, folder) if (folder / "tokenizer").is_dir() else None
    before = proportional()
    examples = task.split("train").examples
    letters = sum(len(example.source) + len(example.target) for example in examples)
    tokens = 0
    if codec is not None:
        tokens = int(task.encoded("train", codec).target_counts(len(codec.tokenizer)).sum())
    print("ready", flush=True)
    sys.stdin.read(1)
    held = proportional() - before
    print("counted", flush=True)
    sys.stdin.read(1)
    return {"letters": letters, "tokens": tokens, "held": held}


def proportional() -> float:
    """Return the megabytes of this process, of pages that it shares its part only."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def retrieved(name: str, folder: Path, n: int) -> dict[str, Any]:
    """Find the exemplars of n training rows on one core, with nothing kept."""
    from bench.tasks.exemplars.retrieve import retrieve

    examples = loaded(name, folder).split("train").examples[:n]
    sources, targets = [row.source for row in examples], [row.target for row in examples]
    retrieve(sources[:300], targets[:300], threads=1)  # compiles
    times = Times()
    retrieve(sources, targets, threads=1)
    times.next("retrieve")
    return {"rows": len(sources), **times.seconds}


class Times:
    """Wall and processor seconds of the parts of a stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, tuple[float, float]] = {}
        self.start = time.perf_counter(), time.process_time()

    def next(self, name: str) -> None:
        """End a part."""
        now = time.perf_counter(), time.process_time()
        self.seconds[name] = round(now[0] - self.start[0], 2), round(now[1] - self.start[1], 2)
        self.start = now


def child(stage: str, name: str, folder: Path) -> None:
    """Run a stage and print what it found as JSON."""
    if stage.startswith("retrieve:"):
        found = retrieved(name, folder, int(stage.partition(":")[2]))
    else:
        found = {"prepare": prepare, "tokenise": tokenise, "batch": batch, "worker": worker}[stage](name, folder)
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    found["own_mb"] = int(status["RssAnon"].split()[0]) / 1024
    found["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found["cpu_s"] = round(time.process_time(), 2)
    print(json.dumps(found))


# The command ----------------------------------------------------------------------------------------------------------


def started(stage: str, name: str, folder: Path) -> subprocess.Popen[str]:
    """Start a stage in a process of its own, with a cache beside the rows."""
    environment = {**os.environ, "BENCH_CACHE": str(folder / "cache")}
    arguments = [sys.executable, __file__, "--folder", str(folder), "--child", stage, "--tasks", name]
    return subprocess.Popen(arguments, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def measured(stage: str, name: str, folder: Path) -> dict[str, Any]:
    """Run a stage; return what it found, with wall time and disk."""
    before, begin = disk(folder / "cache"), time.perf_counter()
    process = started(stage, name, folder)
    answer, _ = process.communicate()
    if process.returncode:
        raise SystemExit(f"{name}, {stage}: ended with {process.returncode}")
    found: dict[str, Any] = json.loads(answer.splitlines()[-1])
    found["wall_s"] = round(time.perf_counter() - begin, 1)
    found["disk_mb"] = disk(folder / "cache") - before
    return found


def workers(name: str, folder: Path) -> dict[str, Any]:
    """Return the memory of several processes that hold the same rows, what they share counted once."""
    processes = [started("worker", name, folder) for _ in range(WORKERS)]
    for word in ("ready", "counted"):
        for process in processes:
            if process.stdout is None or process.stdin is None or process.stdout.readline().strip() != word:
                raise SystemExit(f"{name}: a worker ended before it was {word}")
        for process in processes:
            process.stdin.write("\n")
            process.stdin.flush()
    answers = [json.loads(process.communicate()[0].splitlines()[-1]) for process in processes]
    return {"processes": WORKERS, "together_mb": sum(answer["held"] for answer in answers),
            "own_mb": answers[0]["own_mb"], "peak_mb": answers[0]["peak_mb"]}  # fmt: skip


def disk(folder: Path) -> float:
    """Return the megabytes of the files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def line(name: str, stage: str, found: dict[str, Any]) -> str:
    """Write what a stage took."""
    parts = [f"{name:12} {stage:16}"]
    for word, unit in (("wall_s", "s"), ("cpu_s", "s cpu"), ("peak_mb", "MB peak"), ("own_mb", "MB own"),
                       ("disk_mb", "MB disk"), ("together_mb", "MB together")):  # fmt: skip
        if word in found:
            parts.append(f"{found[word]:9.1f} {unit}")
    for word, value in found.items():
        if isinstance(value, list):
            parts.append(f"{word}: {value[0]:.1f} s, {value[1]:.1f} cpu;")
    return " ".join(parts)


def retrievals(name: str, folder: Path, numbers: list[int], tell: Callable[[str, dict[str, Any]], None]) -> None:
    """Measure retrieval of several numbers of rows, and say what all would take."""
    points = []
    for n in numbers:
        found = measured(f"retrieve:{n}", name, folder)
        tell(f"retrieve {n:,}", found)
        points.append((found["rows"], found["retrieve"][1]))
    if len(points) > 1:
        (first, least), (last, most) = points[-2:]
        exponent = math.log(most / least) / math.log(last / first)
        hours = most * (TEXTS[name].rows / last) ** exponent / 3600
        pairs = 1e9 * most / last**2
        print(f"{name}: exponent {exponent:.2f}, {pairs:.2f} ns a pair at {last:,} rows; extrapolated to "
              f"{TEXTS[name].rows:,} rows: {hours:.1f} core-hours")  # fmt: skip


def stages(args: argparse.Namespace) -> Iterator[tuple[str, Path, str]]:
    """Make the rows of each task; yield task, folder and stage."""
    for name in args.tasks.split(","):
        folder = args.folder / f"{name}-{args.scale:g}"
        begin = time.perf_counter()
        rows = make(folder, name, args.scale)
        size = sum((folder / file).stat().st_size for file in TEXTS[name].files) / 1e6
        print(f"{name:12} {rows:,} rows, {size:,.0f} MB, made in {time.perf_counter() - begin:.0f} s", flush=True)
        for stage in args.stages.split(","):
            if stage != "retrieve" or name == "gigaword":
                yield name, folder, stage


def main() -> None:
    """Measure all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="where rows are kept; else they are made for this run only")
    parser.add_argument("--scale", type=float, default=0.005)
    parser.add_argument("--tasks", default=",".join(TEXTS))
    parser.add_argument("--stages", default=",".join(STAGES))
    parser.add_argument("--retrieve", default="5000,10000")
    parser.add_argument("--child", default="", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        child(args.child, args.tasks, args.folder)
        return
    with tempfile.TemporaryDirectory() as made_for_this_run:
        args.folder = args.folder or Path(made_for_this_run)
        measure(args)


def measure(args: argparse.Namespace) -> None:
    """Measure the stages that are asked for."""
    for name, folder, stage in stages(args):

        def tell(what: str, found: dict[str, Any], name: str = name) -> None:
            print(line(name, what, found), flush=True)
            with open(args.folder / "measured.jsonl", "a") as file:
                file.write(json.dumps({"task": name, "scale": args.scale, "stage": what, **found}) + "\n")

        if stage == "retrieve":
            retrievals(name, folder, [int(n) for n in args.retrieve.split(",")], tell)
        elif stage == "workers":
            tell(stage, workers(name, folder))
        else:
            tell(stage, measured(stage, name, folder))


if __name__ == "__main__":
    main()
