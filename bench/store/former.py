"""Former records: files of an earlier version in the form of this version, and the keys of their runs.

Every reader of a store goes through here (called by `store.py`), so no other module knows of these changes:

- HistAlign of version 2 without a stated reduction took the mean over pairs. That is the variant `mean` of version 3,
  and `histalign.mean` where the run was named `histalign`. With any other options both versions train the same.
- Label smoothing of version 1 differs from version 2 in the distribution `unigram` alone.
- `full` of a probe mixed an untrained cache into every method. It is the head now, where a method has no cache.
  Whether a plug-in has one is not recorded, so its older `full` is no number.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from bench.models import METHODS

Content = Mapping[str, Any]

FOLDERS = {"histalign.mean": "histalign"}
"""Methods whose runs an earlier version stored under another name."""
WITH_CACHE = ("trime", "histalign", "mle.cache", "mle.knn")
"""Built-in methods that predict by head and cache, with their variants; `full` of any other is its head."""
FULL, HEAD = "full", "head"
AGAIN = "|not applicable: needs a new evaluation, which bench run makes; full had another meaning"
"""Behind the signature of a value whose meaning is not known."""


def former_folder(method: str) -> str:
    """Return the folder that an earlier version stored the runs of a method in; empty where it was the same."""
    return FOLDERS.get(method, "")


def former_method(method: Content) -> Content:
    """Return the part of a run's key that is its method: version and options of the first version that trains the same.

    Args:
        method: class, version and `options`, as this version has them.

    >>> options = {"variant": "mean", "reduction": None}
    >>> former_method({"class": "histalign", "version": 3, "options": options})["options"]["variant"]
    'paper'
    """
    match method:
        case {"class": "histalign", "version": 1 | 3, "options": {"variant": "mean"} as options}:
            version = min(method["version"], 2)
            return {**method, "version": version, "options": {**options, "variant": "paper"}}
        case {"class": "histalign", "version": 3, "options": {"variant": "paper", "reduction": None}}:
            return method
        case {"class": "histalign", "version": 3}:
            return {**method, "version": 2}
        case {"class": "label_smoothing", "version": 2, "options": {"distribution": "uniform" | "others"}}:
            return {**method, "version": 1}
    return method


def present_record(kind: str, method: str, content: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a record as this version writes it.

    Args:
        kind: `trained`, `failed`, `scores` or `grid`.
        method: the name of the folder that holds the run.
        content: as stored.
    """
    if kind in ("trained", "failed"):
        return _present_run(content)
    if kind == "scores" and content.get("family") == "cache_accuracy":
        values = content["values"]
        if _is_head_alone(method):
            heads = {value["name"]: value["value"] for value in values}
            values = [{**value, "value": heads.get(_at_head(value["name"]))} for value in values]
        elif not _is_built_in(method) and FULL not in content["of"]:
            values = [_unknown(value) for value in values]
        return {**content, "values": values}
    return content


def present_predictions(method: str, content: Content, rows: Sequence[Content]) -> Sequence[Content]:
    """Return the rows of an evaluation as this version makes them; arguments as for `present_record`."""
    if content.get("kind") == "probe" and _is_head_alone(method):
        return [{**row, FULL: row[HEAD]} for row in rows]
    return rows


def present_columns(method: str, columns: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return which statistics the columns of a file of sums are made of; `method` as for `present_record`."""
    if not _is_head_alone(method):
        return columns
    return {name: columns.get(_at_head(name), about) for name, about in columns.items()}


def _present_run(content: dict[str, Any]) -> dict[str, Any]:
    """Return the record of a training as this version writes it."""
    method, config = content.get("method"), content.get("config")
    if not isinstance(method, Mapping) or not isinstance(config, Mapping):
        return content
    options, code = config.get("method_options", {}), (method.get("class"), method.get("version"))
    if code in (("histalign", 1), ("histalign", 2)):
        if (options.get("variant"), options.get("reduction")) == ("paper", None):
            name = "histalign.mean" if config["method"] == "histalign" else config["method"]
            config = {**config, "method": name, "method_options": {**options, "variant": "mean"}}
        method = {**method, "version": {1: 1, 2: 3}[method["version"]]}
    elif code == ("label_smoothing", 1) and options.get("distribution") != "unigram":
        method = {**method, "version": 2}
    else:
        return content
    return {**content, "method": method, "config": config}


def _is_built_in(method: str) -> bool:
    """Return whether a method is built in, with its variants."""
    return method.partition(".")[0] in METHODS


def _is_head_alone(method: str) -> bool:
    """Return whether a method is built in and has no cache."""
    return _is_built_in(method) and method.partition(".")[0] not in WITH_CACHE and method not in WITH_CACHE


def _unknown(value: Content) -> Content:
    """Return a value of `full` without its number; any other as it is."""
    if _at_head(value["name"]) == value["name"]:
        return value
    return {**value, "value": None, "signature": value["signature"] + AGAIN}


def _at_head(column: str) -> str:
    """Return the column of the head for one of `full`; any other column as it is.

    >>> _at_head("acc@2/full"), _at_head("acc@2/cache")
    ('acc@2/head', 'acc@2/cache')
    """
    name, _, mode = column.rpartition("/")
    if not name.startswith("acc@") or mode != FULL:
        return column
    return f"{name}/{HEAD}"
