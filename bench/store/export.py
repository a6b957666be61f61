"""Export: the records of a store as a snapshot, without weights and predictions."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.base.files import write_atomic
from bench.base.keys import sha256
from bench.base.version import __version__
from bench.store.files import SCHEMA
from bench.store.former import present_record
from bench.store.snapshot import MANIFEST, RUNS, SCORES, STATISTICS, TRAINED, VALUE
from bench.store.store import CellFolder, Store

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from bench.store.sums_file import SumsFile


RECORDS = ("trained.json", "scores-*.json", "grid-*.json")
"""Names of the records that are exported."""
WITHOUT_SUMS = "valid"
"""The split whose statistics are left out: settings were chosen by its values, and no test is made of its examples."""
FRAME = ("task", "split", "method", "backbone", "decoding", "seed", "metric", "value", "signature", "watermark")
"""The columns of scores that every number of the program has; the others are those of its record."""
OF_RECORD = (
    "run", "record", "author", "unit", "higher_is_better", "n", "form", "statistics", "evaluation", "provenance"
)  # fmt: skip
LEVEL = 11
"""Of compression by Brotli, whose files are a twelfth smaller than those of zstd and are read almost as fast."""
PAGE_BYTES = 2**26
"""The values of a column, or the dictionary of its texts, are compressed as one page up to this size."""

Record = Mapping[str, Any]
Row = dict[str, Any]
Lists = dict[bytes, tuple[int, tuple[Any, ...], "NDArray[Any]"]]
"""The distinct lists of numbers by their bytes, each with its number and a key to sort by; many values share one."""


def export(results: Path, target: Path, submitted_by: str = "") -> None:
    """Write the records and statistics of a store's trained runs as a snapshot, in place of the one there was.

    Args:
        results: a results folder, or a snapshot.
        target: the folder to write.
        submitted_by: name of the people who submit it to a repository; that of the snapshot it is made of by default.

    Raises:
        StoreError: a record is damaged, and nothing is written; or the disk is full or refuses.
    """
    records: dict[str, Record] = {}
    statistics: dict[str, SumsFile] = {}
    store = Store(results)
    for cell in store.cells():
        if cell.trained() is not None:
            add_run(cell, cell.path.relative_to(results).as_posix(), records, statistics)
    write_snapshot(target, records, statistics, submitted_by or store.files.submitted_by)


def add_run(cell: CellFolder, run: str, records: dict[str, Record], statistics: dict[str, SumsFile]) -> None:
    """Add the records of a run, and the statistics that they name."""
    for scores in cell.all_scores():
        digest = scores.get("items")
        if digest is not None and scores["of"]["split"] != WITHOUT_SUMS and (file := cell.sums_file(digest)):
            statistics[digest] = file
    for pattern in RECORDS:
        for name in cell.names(pattern):
            records[f"{run}/{name}"] = cell.record(name)


def write_snapshot(
    path: Path, records: Mapping[str, Record], statistics: Mapping[str, SumsFile], submitted_by: str = ""
) -> None:
    """Write a snapshot.

    Args:
        path: the folder; a snapshot that is there is replaced.
        records: by `<task>/<method>/<key>/<name>`; each run has one of its training.
        statistics: by the hash that records name as `items`; those of other hashes are left out.
        submitted_by: name of the people who submit it; empty for none.

    Raises:
        StoreError: the disk is full or refuses.
    """
    by_run: dict[str, dict[str, Record]] = {}
    for place, record in sorted(records.items()):
        run, _, name = place.rpartition("/")
        by_run.setdefault(run, {})[name] = record
    lists: Lists = {}
    runs, scores = list[Row](), list[Row]()
    for run, named in by_run.items():
        trained = present_record("trained", "", named[TRAINED]["content"])  # for the columns; the record stays as it is
        about = {field: trained["config"].get(field) for field in ("task", "method", "backbone", "seed")}
        searches = [{"name": name, "record": _run_text(named[name])} for name in named if name.startswith("grid-")]
        runs.append({**about, "run": run, "record": _run_text(named[TRAINED]), "searches": searches})
        for name, record in named.items():
            if name.startswith("scores-"):
                which = {"run": run, "record": name.removeprefix("scores-").removesuffix(".json")}
                file = statistics.get(record["content"].get("items", ""))
                scores += [which | row for row in _rows(record, trained, file, lists, run)]
    ordered = sorted(lists.values(), key=lambda one: one[1])  # so that like lie together
    order = {number: place for place, (number, _, _) in enumerate(ordered)}
    for row in scores:
        if row["statistics"] is not None:
            row["statistics"] = [order[number] for number in row["statistics"]]
    statistics_table = _statistics_table([array for _, _, array in ordered])
    tables = {STATISTICS: statistics_table, SCORES: _scores_table(scores), RUNS: _runs_table(runs)}
    contents = {name: _parquet(table, texts=name == SCORES) for name, table in tables.items()}
    hashes = {name: sha256(content) for name, content in contents.items()}
    manifest = {"schema": SCHEMA, "bench": __version__, "sha256": hashes}
    if submitted_by:
        manifest["submitted_by"] = submitted_by
    contents[MANIFEST] = json.dumps(manifest, indent=1).encode() + b"\n"
    for name, content in contents.items():
        write_atomic(path / name, content, replace=True)


def _rows(record: Record, trained: Record, file: SumsFile | None, lists: Lists, run: str) -> list[Row]:
    """Return the rows of a scores record, one for each of its values, and add its lists."""
    content, config = record["content"], trained["config"]
    of = content["of"]
    shared = {
        "task": config.get("task"),
        "split": of.get("split"),
        "method": of.get("shown_as") or config.get("method"),
        "backbone": config.get("backbone"),
        "decoding": (of.get("decoding") or {}).get("name", ""),
        "seed": config.get("seed"),
        "watermark": _watermark(of, trained),
        "author": "model",
        "form": None,
        "statistics": None,
        "evaluation": _text({name: [] if name in ("values", "human") else held for name, held in content.items()}),
        "provenance": _text(record["provenance"]),
    }
    rows = []
    for value in content["values"]:
        row = shared | {column: value[field] for field, column in VALUE.items()}
        if file is not None and (about := file.columns.get(value["name"])):
            row["form"] = _text({name: held for name, held in about.items() if name != "of"})
            where, row["statistics"] = (str(config.get("task")), content["family"], value["name"]), []
            for number, name in enumerate(about["of"]):
                array = file.tensors[name]
                if array.dtype.kind != "f":
                    array = array.astype("int64")
                found = (len(lists), (*where, number, run), array)
                row["statistics"].append(lists.setdefault(array.dtype.kind.encode() + array.tobytes(), found)[0])
        rows.append(row)
    for value in content.get("human", ()):
        by_people = {"method": "human", "backbone": None, "seed": None, "author": "human"}
        rows.append(shared | by_people | {column: value[field] for field, column in VALUE.items()})
    return rows or [shared | dict.fromkeys(VALUE.values())]


def _watermark(of: Record, trained: Record) -> str:
    """Return the reasons why a value is not comparable with published ones; empty if there is none."""
    data = {"train": trained.get("data", {}).get("train", {}).get("status", ""), of.get("split"): of.get("status", "")}
    reasons = [f"{split} data: {status}" for split, status in data.items() if status not in ("official", "")]
    if not of.get("whole_split", True):
        reasons.append(f"only {of['ids']['n']:,} rows of the {of['split']} split")
    return "; ".join(reasons)


def _statistics_table(arrays: Sequence[NDArray[Any]]) -> pa.Table:
    """Return the table of lists: whole numbers as `counts`, others as `numbers`."""
    import pyarrow as pa

    counts = [array if array.dtype.kind != "f" else None for array in arrays]
    numbers = [array if array.dtype.kind == "f" else None for array in arrays]
    columns = [pa.array(counts, pa.list_(pa.int64())), pa.array(numbers, pa.list_(pa.float64()))]
    return pa.table(columns, names=["counts", "numbers"])


def _scores_table(rows: list[Row]) -> pa.Table:
    """Return the table of scores; the columns of the tidy frame come first."""
    import pyarrow as pa

    numbers = {"seed": pa.int64(), "value": pa.float64(), "n": pa.int64(), "higher_is_better": pa.bool_()}
    types = {**numbers, "statistics": pa.list_(pa.int32())}
    return pa.Table.from_pylist(rows, pa.schema([(name, types.get(name, pa.string())) for name in FRAME + OF_RECORD]))


def _runs_table(rows: list[Row]) -> pa.Table:
    """Return the table of runs."""
    import pyarrow as pa

    texts = [(name, pa.string()) for name in ("task", "method", "backbone", "run", "record")]
    searches = pa.list_(pa.struct([("name", pa.string()), ("record", pa.string())]))
    return pa.Table.from_pylist(rows, pa.schema([*texts, ("seed", pa.int64()), ("searches", searches)]))


def _parquet(table: pa.Table, *, texts: bool) -> bytes:
    """Return a table as a file.

    A dictionary encodes repeated texts, and would make lists of numbers larger. Most bytes of a count are 0: with the
    first bytes of all counts together, then the second, and so on, they take a quarter less.
    """
    from pyarrow import parquet

    file = io.BytesIO()
    parquet.write_table(
        table,
        file,
        compression="brotli",
        compression_level=LEVEL,
        use_dictionary=texts,
        column_encoding={"counts.list.element": "BYTE_STREAM_SPLIT"} if "counts" in table.column_names else None,
        data_page_size=PAGE_BYTES,
        dictionary_pagesize_limit=PAGE_BYTES,
        write_statistics=False,
    )
    return file.getvalue()


def _run_text(record: Record) -> str:
    """Return a record as JSON without its kind, schema and hash, which follow from the rest."""
    return _text({"content": record["content"], "provenance": record["provenance"]})


def _text(content: Any) -> str:
    """Return content as JSON in ASCII: a text of Parquet must be UTF-8, and a lone surrogate is not."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
