"""Mutated files: a publisher's file damaged anywhere gives rows, or one line with file and reason, no traceback."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.errors import BenchError
from bench.tasks import TASKS
from bench.tasks.fetch.sources import Source
from tests.tasks.test_nyt import article

FUZZ = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
MUTATIONS: dict[str, Callable[[bytes, int], bytes]] = {
    "invalid UTF-8": lambda raw, at: raw[:at] + b"\xff\xfe" + raw[at:],
    "NUL": lambda raw, at: raw[:at] + b"\0" + raw[at:],
    "BOM": lambda raw, at: b"\xef\xbb\xbf" + raw,
    "BOM inside": lambda raw, at: raw[:at] + b"\xef\xbb\xbf" + raw[at:],
    "CRLF": lambda raw, at: raw.replace(b"\n", b"\r\n"),
    "CR": lambda raw, at: raw[:at] + b"\r" + raw[at:],
    "cut": lambda raw, at: raw[:at],
    "twice": lambda raw, at: raw[:at] + raw[:at] + raw[at:],
    "bracket": lambda raw, at: raw[:at] + b'{"[}' + raw[at:],
    "quote": lambda raw, at: raw[:at] + b'"' + raw[at:],
    "line feed": lambda raw, at: raw[:at] + b"\n" + raw[at:],
    "byte": lambda raw, at: raw[:at] + bytes([at % 256]) + raw[at + 1 :],
    "surrogate": lambda raw, at: raw[:at] + b"\\ud800" + raw[at:],
    "hole": lambda raw, at: raw[:at] + raw[at + 20 :],
}
N = 12
WORDS = [f"the mayor of town {i} opened a bridge of {i} metres" for i in range(N)]


def lines(texts: list[str]) -> bytes:
    return "".join(text + "\n" for text in texts).encode()


def rows(**columns: list[object]) -> bytes:
    return lines([json.dumps(dict(zip(columns, cells, strict=True))) for cells in zip(*columns.values(), strict=True)])


FILES: Mapping[str, Mapping[str, bytes]] = {  # the first file is the one that is damaged
    "xsum": {"train.jsonl": rows(document=WORDS, summary=WORDS[::-1], id=[str(i) for i in range(N)]),
             "test.jsonl": rows(document=["a b"], summary=["c"], id=["x"])},
    "cnndm": {"train.jsonl": rows(article=WORDS, highlights=WORDS[::-1], id=[str(i) for i in range(N)]),
              "test.jsonl": rows(article=["a b"], highlights=["c"], id=["x"])},
    "gigaword": {"train.article.txt": lines(WORDS), "train.title.txt": lines(WORDS[::-1])},
    "writingprompts": {"train.wp_source": lines(WORDS), "train.wp_target": lines([text * 9 for text in WORDS])},
    "wikibio": {"train.box": lines([f"name_1:ann\tname_2:{i}\timage:<none>" for i in range(N)]),
                "train.summary": lines(WORDS)},
    "wikitext103": {"wiki.train.tokens": b"".join(f" \n = T {i} = \n \n {WORDS[i]} \n".encode() for i in range(N))},
    "nsmc": {"train.jsonl": rows(movie_id=[str(i) for i in range(N)], reviews=[[{"review": w}] for w in WORDS])},
    "lyrics": {"train.jsonl": rows(text=WORDS), "test.jsonl": rows(text=WORDS)},
    "text": {"train.txt": lines([f"{text} " * 4 for text in WORDS]), "test.txt": lines([WORDS[0] * 9]),
             "valid.txt": lines([WORDS[1] * 9])},
    "pairs": {"train.csv": b"source,target\n" + lines([f'"{a}",{b}' for a, b in zip(WORDS, WORDS[::-1], strict=True)]),
              "valid.csv": b"source,target\na b,c\n", "test.csv": b"source,target\nd e,f\n"},
    "logicnlg": {"train_lm.json": json.dumps({"1-1.csv": [[text, [0], "title", "[ENT]"] for text in WORDS]}).encode(),
                 "all_csv/1-1.csv": b"town#bridge\nA#1\nB#2\n"},
    "ambiguous_template": {
        "questions-words.txt": lines([
            line for name in ("capital-common-countries", "capital-world", "city-in-state", "family")
            for line in (f": {name}", *(f"{name[:3]}a{i} {name[:3]}b{i} {name[:3]}a{j} {name[:3]}b{j}"
                                        for i in range(4) for j in range(4) if i != j))
        ]),
        "templates.json": json.dumps({
            "people": [f"{word} the {{}} and the {{}} met the" for word in ("When", "Once", "Then", "If")],
            "location": [f"{word} from {{}} or {{}} we saw" for word in ("When", "Once", "Then", "If")],
        }).encode(),
    },
    "nyt": {f"data/2004/01/{i + 1:02d}/{i}.xml": article(f"200401{i + 1:02d}") for i in range(N)},
}  # fmt: skip


def written(folder: Path, task: str) -> Path:
    for name, content in FILES[task].items():
        path = folder / task / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder / task


@pytest.mark.parametrize("task", FILES)
def test_the_file_is_good_before_it_is_damaged(tmp_path: Path, task: str) -> None:
    found = TASKS[task].load()()
    found.load(Source(written(tmp_path, task), "test"))
    assert len(found.split("train").examples) >= 8


damaged = given(
    what=st.sampled_from(sorted(MUTATIONS)),
    place=st.floats(0, 1),
    policy=st.sampled_from(["fail", "skip"]),
    end=st.sampled_from([b"\n", b"\r\n"]),
    packed=st.sampled_from(["", "before", "after"]),
)


@pytest.mark.parametrize("task", FILES)
@FUZZ
@damaged
def test_a_damaged_file_gives_rows_or_says_which_and_why(
    tmp_path: Path, task: str, what: str, place: float, policy: str, end: bytes, packed: str
) -> None:
    """Read the training split of a task after one mutation of its first file, packed before or after it or not."""
    name = next(iter(FILES[task]))
    raw = FILES[task][name].replace(b"\n", end)
    if packed == "before":
        raw = gzip.compress(raw)
    folder = tmp_path / task
    if not folder.exists():
        written(tmp_path, task)
    content = MUTATIONS[what](raw, int(place * len(raw)))
    if packed == "after":
        content = gzip.compress(content)
    (folder / name).write_bytes(content)
    found = TASKS[task].load()()
    found.load(Source(folder, "test"), on_bad_row=policy)
    try:
        split = found.split("train")
    except BenchError as error:
        said = str(error)
        assert "\n" not in said
        assert folder.name in said, said
        return
    assert all(example.target.strip() for example in split.examples)
    assert all("\0" not in example.source + example.target for example in split.examples)
    assert all(file and row and reason for file, row, reason in split.skipped)
    assert len({example.id for example in split.examples}) == len(split.examples)
