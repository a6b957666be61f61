"""Files of publishers, damaged anywhere: rows, or one line with file and reason. In another form: the same rows."""

import gzip
import json
from collections.abc import Callable, Iterable, Mapping
from itertools import product
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.errors import BenchError
from bench.tasks import TASKS
from bench.tasks.core.example import Example
from bench.tasks.fetch.sources import Source

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
}  # fmt: skip


def written(folder: Path, files: Iterable[tuple[str, bytes]]) -> Path:
    for name, content in files:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


damaged = given(
    what=st.sampled_from(sorted(MUTATIONS)),
    place=st.floats(0, 1),
    end=st.sampled_from([b"\n", b"\r\n"]),
    packed=st.sampled_from(["", "before", "after"]),
)


@pytest.mark.parametrize("task", FILES)
@FUZZ
@damaged
def test_a_damaged_file_gives_rows_or_says_which_and_why(
    tmp_path: Path, task: str, what: str, place: float, end: bytes, packed: str
) -> None:
    """Read the training split of a task after one mutation of its first file, packed before or after it or not."""
    name = next(iter(FILES[task]))
    raw = FILES[task][name].replace(b"\n", end)
    if packed == "before":
        raw = gzip.compress(raw)
    folder = tmp_path / task
    if not folder.exists():
        written(folder, FILES[task].items())
    content = MUTATIONS[what](raw, int(place * len(raw)))
    if packed == "after":
        content = gzip.compress(content)
    (folder / name).write_bytes(content)
    found = TASKS[task].load()()
    found.load(Source(folder, "test"))
    try:
        split = found.split("train")
    except BenchError as error:
        said = str(error)
        assert "\n" not in said
        assert folder.name in said, said
        return
    assert all(example.target.strip() for example in split.examples)
    assert all("\0" not in example.source + example.target for example in split.examples)
    assert len({example.id for example in split.examples}) == len(split.examples)


# Forms of good files

LINE_ENDS = {"LF": b"\n", "CRLF": b"\r\n"}
MARK = b"\xef\xbb\xbf"
NOT_PACKED = ("questions-words.txt", "templates.json", "all_csv/1-1.csv")
"""What publishers have plain or in an archive, and no reader takes packed by itself."""
INVISIBLE = "\u00a0\u200b \u2060\u00ad\ufe0f\u3164\u2800\U000e0020"


def examples_of(folder: Path, task: str, split: str = "train") -> list[Example]:
    found = TASKS[task].load()()
    found.load(Source(folder, "test"))
    return list(found.split(split).examples)


@pytest.mark.parametrize("task", FILES)
def test_no_form_of_a_file_changes_a_row(tmp_path: Path, task: str) -> None:
    expected = examples_of(written(tmp_path / "plain", FILES[task].items()), task)
    assert len(expected) >= 8
    for end, marked, packed in product(LINE_ENDS, (False, True), (False, True)):
        files = []
        for name, content in FILES[task].items():
            content = MARK * marked + content.replace(b"\n", LINE_ENDS[end])
            if packed and not name.endswith(NOT_PACKED):
                name, content = f"{name}.gz", gzip.compress(content)
            files.append((name, content))
        folder = written(tmp_path / f"{end}-{marked}-{packed}", files)
        assert examples_of(folder, task) == expected, (end, marked, packed)


def table_of(content: bytes) -> pa.Table:
    return pa.Table.from_pylist([json.loads(line) for line in content.splitlines()])


@pytest.mark.parametrize("task", ["xsum", "cnndm", "lyrics"])
def test_rows_of_parquet_are_those_of_json_lines(tmp_path: Path, task: str) -> None:
    expected = examples_of(written(tmp_path / "jsonl", FILES[task].items()), task)
    folder = tmp_path / "parquet"
    folder.mkdir()
    for name, content in FILES[task].items():
        pq.write_table(table_of(content), folder / name.replace(".jsonl", ".parquet"))
    assert examples_of(folder, task) == expected


@pytest.mark.parametrize("task", FILES)
@pytest.mark.parametrize(
    "content", [b"", b"\n\n", MARK, f"{INVISIBLE}\n".encode()], ids=["0", "blank", "BOM", "hidden"]
)
def test_a_file_without_rows_is_named(tmp_path: Path, task: str, content: bytes) -> None:
    first = next(iter(FILES[task]))
    files = dict(FILES[task])
    for name in files:
        if name.startswith(first.split(".")[0]):
            files[name] = content
    folder = written(tmp_path / task, files.items())
    with pytest.raises(BenchError) as raised:
        examples_of(folder, task)
    assert task in str(raised.value)
