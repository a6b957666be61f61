"""Groups: the runs of a store by the examples they were scored on; each group becomes a table.

A group has the rows of its table and the lines of the frame with their numbers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.base.keys import key_of
from bench.leaderboards.controls import controlled_by
from bench.leaderboards.frame import Line
from bench.leaderboards.row import StoredSums, TableRow
from bench.models import EXTERNAL, METHODS
from bench.store.fields import IMPORTED, is_imported
from bench.store.reading import CellRecords
from bench.tasks import KNOWN_TEXTS

NOT_APPLICABLE = "|not applicable: "
"""What parts the signature of a metric without a value from the reason."""
OF_TRAINING = ("trainer", "backbone", "backbone_options")
"""The parts of a configuration that a cell without a model has and does not use."""
OTHER_CELLS = ("start", "second")
"""Cells that a cell is made of: whose weights it starts from, and its reference model."""


@dataclass
class Group:
    """The cells that become one table.

    Args:
        shared: what all of them share: task, preset, data, split and limit.
        n, whole: as in the table.
        rows: by the key of everything that decides a number but the seed.
        human: what people wrote, by tokenizer and longest text.
        lines: the numbers of all these rows.
        own_task: `columns` and `primary` of a task of the user's own, from a record; empty for a built-in one.
        own_metrics: columns of metrics of the user's own.
        title: name of a user's own data; empty where it has none, and for published data.
    """

    shared: Mapping[str, Any]
    n: int
    whole: bool
    rows: dict[str, TableRow] = field(default_factory=dict)
    human: dict[tuple[str | None, int], TableRow] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)
    own_task: Mapping[str, Any] = field(default_factory=dict)
    own_metrics: dict[str, None] = field(default_factory=dict)
    title: str = ""


def _shared(trained: Mapping[str, Any], split: str, status: str, sha256: str) -> dict[str, Any]:
    """Return what all cells of one table share: task, preset, training data and the split they are evaluated on."""
    config, train = trained["config"], trained["data"]["train"]
    data = {"train": [train["status"], train["sha256"]], split: [status, sha256]}
    if is_imported(trained):  # its training data are unknown
        del data["train"]
    return {
        "task": config["task"],
        "preset": config["preset"],
        "data": data,
        "split": split,
        "limit": config["trainer"]["limit"],
    }


def add_diverged(groups: Mapping[str, Group], trained: Mapping[str, Any]) -> None:
    """Count a diverged cell in every table it would be in; it is never a number."""
    evaluation = trained["config"]["evaluation"]
    split = trained["data"][evaluation["split"]]
    shared = _shared(trained, evaluation["split"], split["status"], split["sha256"])
    for group in groups.values():
        if group.shared == shared:
            _row(group, trained, comparable(trained), "", evaluation["batch_size"]).diverged += 1


def add_cell(groups: dict[str, Group], trained: Mapping[str, Any], cell: CellRecords) -> None:
    """File one cell's scores under the examples they come from."""
    filing = _Filing(trained, cell)
    evaluations = [score["of"] for score in cell.scores if _is_evaluation(score["of"])]
    for score in cell.scores:
        for home in _homes(score["of"], evaluations):
            filing.add(filing.group(groups, home), score)


def add_imported(groups: dict[str, Group], trained: Mapping[str, Any], cell: CellRecords) -> None:
    """File the scores of another system's texts in every table of the same rows, whatever its preset and training data.

    Where there is none they have one of their own.
    """
    filing = _Filing(trained, cell)
    for score in cell.scores:
        of = score["of"]
        alike = [group for key, group in groups.items() if _has_rows_of(group, key, trained, of)]
        for group in alike or [filing.group(groups, of)]:
            filing.add(group, score)


def _has_rows_of(group: Group, key: str, trained: Mapping[str, Any], of: Mapping[str, Any]) -> bool:
    """Return whether a table, whose key is given, is of the rows of an evaluation."""
    shared, split = group.shared, of["split"]
    if (shared["task"], shared["split"], shared["limit"]) != (trained["config"]["task"], split, None):
        return False
    return shared["data"][split] == [of["status"], of["split_sha256"]] and key == key_of({**shared, "ids": of["ids"]})


class _Filing:
    """One cell whose scores are put into rows; what several of its scores share is worked out once.

    Args:
        trained: its record.
        cell: all its records.
    """

    def __init__(self, trained: Mapping[str, Any], cell: CellRecords) -> None:
        self.trained, self.folder = trained, cell.folder
        self.submitted_by = cell.folder.files.submitted_by
        self.searched = longest_search(cell.grids)
        self.groups: dict[str, Group] = {}
        self.rows: dict[tuple[int, str, int, str], TableRow] = {}
        self.comparable = comparable(trained)

    def group(self, groups: dict[str, Group], home: Mapping[str, Any]) -> Group:
        """Return the group of an evaluation, made if need be."""
        examples = repr((home["split"], home["status"], home["split_sha256"], home["ids"]))
        if examples not in self.groups:
            shared = _shared(self.trained, home["split"], home["status"], home["split_sha256"])
            key = key_of({**shared, "ids": home["ids"]})
            group = groups.setdefault(key, Group(shared, home["ids"]["n"], home["whole_split"]))
            group.own_task = own_part(self.trained, "task") or group.own_task
            group.title = group.title or title_of(self.trained)
            self.groups[examples] = group
        return self.groups[examples]

    def row(self, group: Group, of: Mapping[str, Any]) -> TableRow:
        """Return the row of an evaluation."""
        about = (id(group), decoding_name(of["decoding"]), of["batch_size"], of.get("shown_as", ""))
        if about not in self.rows:
            self.rows[about] = _row(group, self.trained, self.comparable, *about[1:], self.submitted_by)
        return self.rows[about]

    def add(self, group: Group, score: Mapping[str, Any]) -> None:
        """Put the values of one score, and those of what people wrote, into their rows."""
        row, of = self.row(group, score["of"]), score["of"]
        tried, tied = (len(self.searched.get(part, ())) for part in ("tried", "play_off"))
        if (tried, tied) > (row.tried, row.tied):
            row.tried, row.tied = tried, tied
            row.picked, row.trial_steps = picked_text(self.searched), str(self.searched.get("steps") or "")
        seed, with_sums = self.trained["config"]["seed"], set(score.get("sums", ()))
        for value in score["values"]:
            sums = None
            if value["name"] in with_sums:
                sums = StoredSums(self.folder, score["items"], value["name"])
            _put(group, row, value, seed, of.get("sampling_seed", seed), sums)
            if "code" in score:
                group.own_metrics[value["name"]] = None
        if "human" in score and not is_imported(self.trained):
            texts = (self.trained.get("model", {}).get("tokenizer_sha256"), of["max_new_tokens"])
            human = group.human.setdefault(texts, TableRow("human", "", "", {}))
            for value in score["human"]:
                _put(group, human, value, 0, 0)


def longest_search(grids: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the search that a cell was picked from; of several that of most combinations, of those one to the end."""
    return max(grids, key=lambda grid: (len(grid["tried"]), len(grid.get("play_off", ()))), default={})


def picked_text(search: Mapping[str, Any]) -> str:
    """Return which settings a search has picked, from how many combinations, and by what.

    Every stored search has picked by the negative log-likelihood under the method's own distribution, also those of
    versions that called it a loss. Options of a method may have been picked by a column that the run stated.

    >>> picked_text({"tried": [{"sets": ["mle:optim.lr=0.1"]}, {"sets": ["mle:optim.lr=0.2"]}]})
    'optim.lr picked from 2 combinations by validation NLL'
    """
    typed = [text.partition("=")[0].rpartition(":")[2] for each in search["tried"] for text in each["sets"]]
    settings = ", ".join(dict.fromkeys(typed)) or "settings"
    text = f"{settings} picked from {len(search['tried'])} combinations by validation NLL"
    if column := search.get("method_options_by"):
        text += f", options of the method (method.*) by validation {column}"
    return text


def _is_evaluation(of: Mapping[str, Any]) -> bool:
    return of["kind"] in ("likelihood", "generation")


def _homes(of: Mapping[str, Any], evaluations: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the evaluations whose tables show a score: its own, or for a probe those its prompts are from."""
    if _is_evaluation(of):
        return [of]
    return [home for home in evaluations if (home["split"], home["of_rows"]) == (of["split"], of["of_rows"])]


def _row(
    group: Group,
    trained: Mapping[str, Any],
    decides: Mapping[str, Any],
    decoding: str,
    batch_size: int,
    shown_as: str = "",
    submitted_by: str = "",
) -> TableRow:
    """Return the row of a cell, or of a control that reads it: equal but for the seed in what decides a number.

    Args:
        group: of the row.
        trained: the record of the cell.
        decides: the same as `comparable` has it.
        decoding: its short name.
        batch_size: of the evaluation.
        shown_as: the control, empty for the cell itself.
        submitted_by: the people who have submitted the cell, whose rows are never mixed with those of others.
    """
    config = {**decides, "evaluation": {"batch_size": batch_size}}
    method, backbone = shown_as or config["method"], config["backbone"]
    if _is_baseline(method, trained):
        backbone = ""
    if _is_without_model(trained):
        config = _without_training(config)
    about = {"config": config, "decoding": decoding}
    if shown_as:
        about["shown_as"] = shown_as
    if submitted_by:
        about["submitted_by"] = submitted_by
    key = key_of(about)
    if key not in group.rows:
        controls = tuple(controlled_by(method))
        group.rows[key] = TableRow(method, backbone, decoding, config, controls=controls, submitted_by=submitted_by)
    row = group.rows[key]
    row.seeds.add(trained["config"]["seed"])
    row.keys.add(trained["key"])
    row.unpinned |= _unpinned(trained)
    row.parameters = trained.get("model", {}).get("parameters")
    for remark in trained.get("remarks", ()):
        row.remember(remark)
    if is_imported(trained):
        file = trained[IMPORTED]["file"]
        row.imported = f"texts of another system, from {file['name']} (SHA-256 {file['sha256'][:12]})"
    return row


def _unpinned(trained: Mapping[str, Any]) -> set[str]:
    """Return the backbone and the rows that came from the hub by a name that moves, for people, and what to do."""
    copies = set()
    backbone, rows = trained.get("model", {}).get("hub"), trained.get("unpinned")
    if backbone is not None and backbone["revision"] != backbone["commit"]:
        copies.add(f"{_moving(backbone)}; --set backbone.revision=COMMIT pins it")
    if rows is not None and "commit" in trained["data"]["train"]:  # named by the user, as task.hub
        copies.add(f"the rows of {_moving(rows)}; --set task.revision=COMMIT pins them")
    elif rows is not None:
        copies.add(f"the rows of {_moving(rows)}; no reference states a commit, and keys hold the rows' hash")
    return copies


def _moving(hub: Mapping[str, str]) -> str:
    """Return a copy of the hub for people: its branch, and the commit that was then."""
    commit = hub["commit"] or "an unknown commit"
    return f"{hub['repository']} at {hub['revision'] or 'its newest commit'}, which was {commit}"


def comparable(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what decides a trained cell but its seed: configuration, code, and what its weights start from."""
    config = {k: v for k, v in record["config"].items() if k not in ("seed", "decodings", "evaluation")}
    config["trainer"] = {k: v for k, v in config["trainer"].items() if k != "init_from"}  # of one seed; `start` is not
    decides = {**config, "code": record["method"]}
    if record["config"]["method"] == EXTERNAL:  # whatever trained it, the weights are all that is known
        decides["weights"] = record["model"]["checkpoint_sha256"]
    if "own" in record:
        decides["own"] = {part: {"source_sha256": own["source_sha256"]} for part, own in record["own"].items()}
    for name in ("start", "second"):
        if other := record.get(name):
            decides[name] = {**comparable(other), "data": {"sha256": other["data"]["train"]["sha256"]}}
    return decides


def _is_without_model(record: Mapping[str, Any]) -> bool:
    """Return whether a cell has no model, as a baseline that copies words: its texts depend on the data alone."""
    return "model" not in record and not is_imported(record)


def _without_training(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what decides a cell without its run's training and model."""
    found = {name: value for name, value in config.items() if name not in OF_TRAINING}
    if "own" in found:
        found["own"] = {part: own for part, own in found["own"].items() if part != "backbone"}
    return found


def title_of(record: Mapping[str, Any]) -> str:
    """Return the name of a user's own data: as he gave it, else that of a public text with these rows; may be empty."""
    return str(record.get("title") or KNOWN_TEXTS.get(record["data"]["train"]["sha256"], ""))


def own_part(record: Mapping[str, Any], part: str) -> Mapping[str, Any]:
    """Return the entry of a record on a task or backbone of the user's own; empty for a built-in one."""
    found: Mapping[str, Any] = record.get("own", {}).get(part, {})
    return found


def _is_baseline(method: str, trained: Mapping[str, Any]) -> bool:
    """Return whether nothing is trained for a method; one of the user's own has no model then."""
    if method in METHODS:
        return METHODS[method].baseline
    if is_imported(trained):
        return True
    return "source_sha256" in trained["method"] and "model" not in trained


def _put(
    group: Group,
    row: TableRow,
    value: Mapping[str, Any],
    seed: int,
    sampling_seed: int,
    sums: StoredSums | None = None,
) -> None:
    """Add the line of one stored value."""
    signature, _, reason = value["signature"].partition(NOT_APPLICABLE)
    about = (id(group), id(row), group.shared["task"], group.shared["split"], row.method, row.backbone, row.decoding)
    number = (value["name"], signature, value["value"], value["higher_is_better"], reason, sums)
    group.lines.append((*about, seed, sampling_seed, *number))


def decoding_name(decoding: Mapping[str, Any] | None) -> str:
    """Return a decoding's short name, empty for evaluations without one.

    A user's own has the hash of its source behind it: a changed file is another decoding, and never the same row.

    >>> decoding_name({"name": "top_a=0.2", "code": {"source_sha256": "202c08441f"}})
    'top_a=0.2 [202c0844]'
    """
    if decoding is None:
        return ""
    name = str(decoding["name"])
    if "code" in decoding:
        name += f" [{decoding['code']['source_sha256'][:8]}]"
    return name


# Older code ---------------------------------------------------------------------------------------------------------


def leave_out_superseded(group: Group) -> dict[str, set[str]]:
    """Take the rows of older code out of a group where the newest of that method, backbone and decoding has a row.

    Two versions of a method are two methods under one name: side by side they would be ranked, tested and averaged as
    if somebody had compared them. An older row with nothing newer stays, for it is all there is. A method of the user's
    own has a hash in place of a version, of which none is older.

    Returns:
        The keys of the cells that were taken out, by reason.
    """
    alike: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for key, row in group.rows.items():
        alike[row.method, row.backbone, row.decoding].append(key)
    cells: dict[str, set[str]] = defaultdict(set)
    for (method, _, _), keys in alike.items():
        versions = {key: versions_of(group.rows[key].config) for key in keys}
        for key, own in versions.items():
            if any(is_older(own, other) for other in versions.values()):
                cells[f"cells of older code of {method} are left out"] |= group.rows.pop(key).keys
    return cells


def is_older(versions: Mapping[str, int], others: Mapping[str, int]) -> bool:
    """Whether no part of some code is newer than that of other code, and one is older; both as `versions_of` has them.

    >>> is_older({"code": 2}, {"code": 3}), is_older({"code": 2}, {}), is_older({"code": 2}, {"code": 2})
    (True, False, False)
    """
    if versions == others or versions.keys() != others.keys():
        return False
    return all(version <= others[part] for part, version in versions.items())


def versions_of(config: Mapping[str, Any], before: str = "") -> dict[str, int]:
    """Return the version of every method that a row's runs are made of, by its place in their configuration.

    >>> versions_of({"code": {"version": 2}, "start": {"code": {"version": 1}}})
    {'code': 2, 'start.code': 1}
    """
    found = {}
    code = config.get("code", {})
    if "version" in code:
        found[f"{before}code"] = int(code["version"])
    for part in OTHER_CELLS:
        if part in config:
            found |= versions_of(config[part], f"{before}{part}.")
    return found
