"""Frame: every number of a store as a line of one tidy pandas frame; the values of tables are groups of its lines.

A line has the metric, seed, sampling seed, value and signature of one stored number; `table` and `row` are the `id()`
of its `Group` and of its `TableRow`, which have the rest. A metric without a value has a line, too. Runs are grouped by
the examples they were scored on: a `Group` has the rows of one table and their lines.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bench.base.keys import key_of
from bench.leaderboards.controls import controlled_by
from bench.leaderboards.row import StoredSums, TableRow, Value
from bench.models import EXTERNAL, METHODS
from bench.store.reading import IMPORTED, CellRecords, is_imported
from bench.tasks import KNOWN_TEXTS

if TYPE_CHECKING:
    import pandas as pd


COLUMNS = (
    "table", "row", "seed", "sampling_seed", "metric", "signature", "value", "higher_is_better", "reason", "sums",
)  # fmt: skip
NOT_APPLICABLE = "|not applicable: "
"""Separates the signature of a metric without a value from the reason."""
OF_TRAINING = ("trainer", "backbone", "backbone_options")
"""The parts of a configuration that a run without a model has and does not use."""
OTHER_CELLS = ("start", "second")
"""Runs that a run depends on: the one that its weights start from, and its reference model."""


# Values ---------------------------------------------------------------------------------------------------------------


def frame_of(groups: Collection[Group]) -> pd.DataFrame:
    """Return the numbers of groups as a frame, with the `column` of a table that each belongs to.

    A metric that has several signatures in one table has a column for each.
    """
    import pandas as pd

    lines = [line for group in groups for line in group.lines]
    frame = pd.DataFrame(lines, columns=list(COLUMNS)).astype({"value": float})
    named = [
        (table, metric, signature, column_name(metric, signature, signatures))
        for (table, metric), signatures in frame.groupby(["table", "metric"])["signature"].unique().items()
        for signature in signatures
    ]
    columns = pd.DataFrame(named, columns=["table", "metric", "signature", "column"])
    return frame.merge(columns, on=["table", "metric", "signature"])


def column_name(metric: str, signature: str, signatures: Iterable[str]) -> str:
    """Return the column of a metric under one of its signatures, named by what differs where there are several.

    >>> column_name("bleu-1", "bleu|V:1", ["bleu|V:1", "bleu|V:2"]), column_name("bleu-1", "bleu|V:1", ["bleu|V:1"])
    ('bleu-1 [V:1]', 'bleu-1')
    """
    parts = [set(text.split("|")) for text in signatures]
    if len(parts) == 1:
        return metric
    shared = set.intersection(*parts)
    return f"{metric} [{'|'.join(part for part in signature.split('|') if part not in shared)}]"


def values_of(frame: pd.DataFrame) -> dict[int, dict[str, Value]]:
    """Return the values of every row by column, in the order of the lines.

    Different numbers for one seed and sampling seed, or a number and none, are shown as a conflict, without that seed.
    """
    place, key = ["row", "column"], ["row", "column", "seed", "sampling_seed"]
    numbers = frame.drop_duplicates([*key, "value"], keep="last")
    conflicting = set(numbers.loc[numbers.duplicated(key), key[:3]].itertuples(index=False, name=None))
    conflicts = {about[:2] for about in conflicting}
    by_sampling_seed = numbers.dropna(subset=["value"]).drop_duplicates(key, keep="last").set_index(key)["value"]
    by_seed = by_sampling_seed.groupby([*place, "seed"], sort=False).mean()
    reasons = frame[frame["reason"] != ""].groupby(place)["reason"].last().to_dict()
    found: dict[int, dict[str, Value]] = defaultdict(dict)
    about = frame[[*place, "higher_is_better", "signature"]].drop_duplicates(place)
    for row, column, higher_is_better, signature in about.itertuples(index=False):
        cell = row, column
        found[row][column] = Value({}, higher_is_better, signature, cell in conflicts, reasons.get(cell, ""))
    for (row, column, seed), number in by_seed.drop(list(conflicting), errors="ignore").items():
        found[row][column].by_seed[seed] = number
    if len(by_seed) < len(by_sampling_seed):
        several = by_sampling_seed.groupby([*place, "seed"]).transform("size").groupby(place).transform("max") > 1
        for (row, column, seed, sampling_seed), number in by_sampling_seed[several].items():
            found[row][column].by_sampling_seed.setdefault(seed, {})[sampling_seed] = number
    for row, column, seed, sums in frame.loc[frame["sums"].notna(), [*place, "seed", "sums"]].itertuples(index=False):
        value = found[row][column]
        if len(value.by_sampling_seed.get(seed, ())) < 2:  # a mean over samples has no statistics of its own
            value.sums[seed] = sums
    return found


# Lines ----------------------------------------------------------------------------------------------------------------


@dataclass
class Group:
    """The runs that become one table.

    Args:
        shared: what all of them share: task, preset, data, split and limit.
        n, whole: as in the table.
        rows: by a key of everything that determines their numbers except the seed.
        human: rows of human texts, by tokenizer and greatest length.
        lines: the numbers of all these rows, by `COLUMNS`.
        plugin_task: `columns` and `primary` of a task that is a plug-in, from a record; empty for a built-in one.
        plugin_metrics: columns of metrics that are plug-ins.
        title: name of a user's own data; empty where it has none, and for published data.
    """

    shared: Mapping[str, Any]
    n: int
    whole: bool
    rows: dict[str, TableRow] = field(default_factory=dict)
    human: dict[tuple[str | None, int], TableRow] = field(default_factory=dict)
    lines: list[tuple[Any, ...]] = field(default_factory=list)
    plugin_task: Mapping[str, Any] = field(default_factory=dict)
    plugin_metrics: dict[str, None] = field(default_factory=dict)
    title: str = ""

    @property
    def keys(self) -> set[str]:
        """The keys of its runs."""
        return set[str]().union(*(row.keys for row in self.rows.values()))

    def is_of(self, trained: Mapping[str, Any], of: Mapping[str, Any], key: str) -> bool:
        """Return whether texts of another system are for these examples, whatever its preset and training data."""
        shared, split = self.shared, of["split"]
        if (shared["task"], shared["split"], shared["limit"]) != (trained["config"]["task"], split, None):
            return False
        same = shared["data"][split] == [of["status"], of["split_sha256"]]
        return same and key == key_of({**shared, "ids": of["ids"]})

    def row(
        self,
        trained: Mapping[str, Any],
        settings: Mapping[str, Any],
        decoding: str,
        batch_size: int,
        shown_as: str = "",
        submitted_by: str = "",
    ) -> TableRow:
        """Return the row of a run, or of a control that evaluates it; runs that differ in their seed alone share a row.

        Args:
            trained: the record of the run.
            settings: of the run, as `comparable` returns them.
            decoding: its short name.
            batch_size: of the evaluation.
            shown_as: the control, empty for the run itself.
            submitted_by: the people who have submitted the run, whose rows are never mixed with those of others.
        """
        config = {**settings, "evaluation": {"batch_size": batch_size}}
        method, backbone = shown_as or config["method"], config["backbone"]
        if _is_baseline(method, trained):
            backbone = ""
        if "model" not in trained and not is_imported(trained):  # such as copied words: nothing is trained
            config = {name: value for name, value in config.items() if name not in OF_TRAINING}
            if "own" in config:
                config["own"] = {part: source for part, source in config["own"].items() if part != "backbone"}
        about = {"config": config, "decoding": decoding}
        others = {"shown_as": shown_as, "submitted_by": submitted_by}
        key = key_of(about | {name: value for name, value in others.items() if value})
        if key not in self.rows:
            controls = tuple(controlled_by(method))
            self.rows[key] = TableRow(method, backbone, decoding, config, controls=controls, submitted_by=submitted_by)
        row = self.rows[key]
        row.seeds.add(trained["config"]["seed"])
        row.keys.add(trained["key"])
        row.unpinned |= _unpinned(trained)
        row.parameters = trained.get("model", {}).get("parameters")
        for remark in trained.get("remarks", ()):
            row.add_remark(remark)
        if trained.get("train", {}).get("after_training", {}).get("weight") == 0:
            row.seeds_without_memory.add(trained["config"]["seed"])
        if is_imported(trained):
            file = trained[IMPORTED]["file"]
            row.imported = f"texts of another system, from {file['name']} (SHA-256 {file['sha256'][:12]})"
        return row

    def add(self, row: TableRow, value: Mapping[str, Any], seeds: tuple[int, int], sums: StoredSums | None) -> None:
        """Add the line of one stored value; `seeds` are those of training and sampling."""
        signature, _, reason = value["signature"].partition(NOT_APPLICABLE)
        number = (value["name"], signature, value["value"], value["higher_is_better"], reason, sums)
        self.lines.append((id(self), id(row), *seeds, *number))


def add_diverged(groups: Mapping[str, Group], trained: Mapping[str, Any]) -> None:
    """Count a diverged run in every table it would be in; it is never a number."""
    evaluation = trained["config"]["evaluation"]
    split = trained["data"][evaluation["split"]]
    shared = _shared(trained, evaluation["split"], split["status"], split["sha256"])
    for group in groups.values():
        if group.shared == shared:
            group.row(trained, comparable(trained), "", evaluation["batch_size"]).seeds_diverged.add(
                trained["config"]["seed"]
            )


def add_scores(groups: dict[str, Group], trained: Mapping[str, Any], cell: CellRecords) -> None:
    """Add the scores of a run to the groups of the examples they come from.

    Scores of another system's texts go to every group of the same examples, or to a new one if there is none.
    """
    # Of several searches it is the one with most combinations.
    searched = max(cell.grids, key=lambda grid: (len(grid["tried"]), len(grid.get("play_off", ()))), default={})
    settings = comparable(trained)
    homes: dict[str, Group] = {}
    rows: dict[tuple[Any, ...], TableRow] = {}

    def group_of(of: Mapping[str, Any]) -> Group:
        examples = repr((of["split"], of["status"], of["split_sha256"], of["ids"]))
        if examples not in homes:
            shared = _shared(trained, of["split"], of["status"], of["split_sha256"])
            group = groups.setdefault(
                key_of({**shared, "ids": of["ids"]}), Group(shared, of["ids"]["n"], of["whole_split"])
            )
            group.plugin_task = trained.get("own", {}).get("task") or group.plugin_task
            known = KNOWN_TEXTS.get(trained["data"]["train"]["sha256"], "")
            group.title = group.title or str(trained.get("title") or known)
            homes[examples] = group
        return homes[examples]

    evaluations = [score["of"] for score in cell.scores if _is_evaluation(score["of"])]
    for score in cell.scores:
        of, found = score["of"], list[Group]()
        if is_imported(trained):
            found = [group for key, group in groups.items() if group.is_of(trained, of, key)] or [group_of(of)]
        elif _is_evaluation(of):
            found = [group_of(of)]
        else:  # a probe is in the tables of the rows that its prompts are from
            prompts = (of["split"], of["of_rows"])
            found = [group_of(home) for home in evaluations if (home["split"], home["of_rows"]) == prompts]
        for group in found:
            about = (decoding_name(of["decoding"]), of["batch_size"], of.get("shown_as", ""))
            if (id(group), *about) not in rows:
                rows[id(group), *about] = group.row(trained, settings, *about, cell.folder.files.submitted_by)
            row = rows[id(group), *about]
            row.cut = max(row.cut, of.get("truncated", 0))
            _add_score(group, row, trained, score, cell)
            tried, tied = (len(searched.get(part, ())) for part in ("tried", "play_off"))
            if (tried, tied) > (row.tried, row.tied):
                row.tried, row.tied = tried, tied
                row.picked, row.trial_steps = picked_text(searched), str(searched.get("steps") or "")


def _add_score(
    group: Group, row: TableRow, trained: Mapping[str, Any], score: Mapping[str, Any], cell: CellRecords
) -> None:
    """Add the values of one score to its row, and those of human texts to the row of these."""
    of, seed, with_sums = score["of"], trained["config"]["seed"], set(score.get("sums", ()))
    for value in score["values"]:
        name = value["name"]
        sums = StoredSums(cell.folder, score["items"], name) if name in with_sums else None
        group.add(row, value, (seed, of.get("sampling_seed", seed)), sums)
        if "code" in score:
            group.plugin_metrics[name] = None
    if "human" in score and not is_imported(trained):
        texts = (trained.get("model", {}).get("tokenizer_sha256"), of["max_new_tokens"])
        human = group.human.setdefault(texts, TableRow("human", "", "", {}))
        for value in score["human"]:
            group.add(human, value, (0, 0), None)


def _shared(trained: Mapping[str, Any], split: str, status: str, sha256: str) -> dict[str, Any]:
    """Return what all runs of one table share: task, preset, training data and the split they are evaluated on."""
    config, train = trained["config"], trained["data"]["train"]
    data = {"train": [train["status"], train["sha256"]], split: [status, sha256]}
    if is_imported(trained):  # its training data are unknown
        del data["train"]
    about = {name: config[name] for name in ("task", "preset")}
    return {**about, "data": data, "split": split, "limit": config["trainer"]["limit"]}


def picked_text(search: Mapping[str, Any]) -> str:
    """Return which settings a search has picked, from how many combinations, and by what.

    A search that names no column has picked by the negative log-likelihood under the method's own distribution, also
    those of versions that called it a loss. One of a version with `--grid` may have picked options by a column.

    >>> picked_text({"tried": [{"sets": ["mle:optim.lr=0.1"]}, {"sets": ["mle:optim.lr=0.2"]}]})
    'trainer.lr picked from 2 combinations by validation NLL'
    """
    typed = [text.partition("=")[0].rpartition(":")[2] for each in search["tried"] for text in each["sets"]]
    settings = ", ".join(dict.fromkeys(name.replace("optim.", "trainer.") for name in typed)) or "settings"
    text = f"{settings} picked from {len(search['tried'])} combinations by validation {search.get('column', 'NLL')}"
    if column := search.get("method_options_by"):
        text += f", options of the method (method.*) by validation {column}"
    return text


def _is_evaluation(of: Mapping[str, Any]) -> bool:
    return of["kind"] in ("likelihood", "generation")


def _unpinned(trained: Mapping[str, Any]) -> set[str]:
    """Return notes on a backbone or data of the hub that were requested by a branch, with the remedy."""

    def moving(hub: Mapping[str, str]) -> str:
        commit = hub["commit"] or "an unknown commit"
        return f"{hub['repository']} at {hub['revision'] or 'its newest commit'}, which was {commit}"

    copies = set()
    backbone, rows = trained.get("model", {}).get("hub"), trained.get("unpinned")
    if backbone is not None and backbone["revision"] != backbone["commit"]:
        copies.add(f"{moving(backbone)}; --set backbone.revision=COMMIT pins it")
    if rows is not None:
        remedy = "no reference states a commit, and keys hold the rows' hash"
        if "commit" in trained["data"]["train"]:  # named by the user, as task.hub
            remedy = "--set task.revision=COMMIT pins them"
        copies.add(f"the rows of {moving(rows)}; {remedy}")
    return copies


def comparable(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what determines a trained run except its seed: configuration, code, and what its weights start from."""
    config = {k: v for k, v in record["config"].items() if k not in ("seed", "decodings", "evaluation")}
    config["trainer"] = {k: v for k, v in config["trainer"].items() if k != "init_from"}  # of one seed; `start` is not
    settings = {**config, "code": record["method"]}
    if record["config"]["method"] == EXTERNAL:  # whatever trained it, the weights are all that is known
        settings["weights"] = record["model"]["checkpoint_sha256"]
    if "own" in record:
        settings["own"] = {part: {"source_sha256": source["source_sha256"]} for part, source in record["own"].items()}
    for name in OTHER_CELLS:
        if other := record.get(name):
            settings[name] = {**comparable(other), "data": {"sha256": other["data"]["train"]["sha256"]}}
    return settings


def _is_baseline(method: str, trained: Mapping[str, Any]) -> bool:
    """Return whether nothing is trained for a method; a plug-in of this kind has no model."""
    if method in METHODS:
        return METHODS[method].baseline
    return is_imported(trained) or ("source_sha256" in trained["method"] and "model" not in trained)


def decoding_name(decoding: Mapping[str, Any] | None) -> str:
    """Return a decoding's short name, empty for evaluations without one.

    A plug-in is followed by the hash of its source, since a changed file is another decoding and another row.

    >>> decoding_name({"name": "top_a=0.2", "code": {"source_sha256": "202c08441f"}})
    'top_a=0.2 [202c0844]'
    """
    if decoding is None:
        return ""
    code = f" [{decoding['code']['source_sha256'][:8]}]" if "code" in decoding else ""
    return f"{decoding['name']}{code}"


# Older code ---------------------------------------------------------------------------------------------------------


def leave_out_superseded(group: Group) -> dict[str, set[str]]:
    """Remove the rows of older code from a group where a newer version of the method has a row like it.

    Two versions of a method are two methods with one name, which must not be ranked, tested and averaged together. Rows
    are alike in backbone, decoding and submitter. An older row without a newer one stays. Plug-ins have no versions.

    Returns:
        The keys of the runs that were removed, by reason.
    """
    alike: dict[tuple[str, str, str, str], list[str]] = defaultdict(list)
    for key, row in group.rows.items():
        alike[row.method, row.backbone, row.decoding, row.submitted_by].append(key)
    cells: dict[str, set[str]] = defaultdict(set)
    for (method, *_), keys in alike.items():
        versions = {key: _versions_of(group.rows[key].config) for key in keys}
        for key, of_row in versions.items():
            if any(_is_older(of_row, other) for other in versions.values()):
                cells[f"runs of older code of {method} are left out"] |= group.rows.pop(key).keys
    there = {id(row) for row in (*group.rows.values(), *group.human.values())}
    group.lines = [line for line in group.lines if line[1] in there]
    return cells


def _is_older(versions: Mapping[str, int], others: Mapping[str, int]) -> bool:
    """Return whether no method of `_versions_of` is newer than in the other code, and one is older."""
    if versions == others or versions.keys() != others.keys():
        return False
    return all(version <= others[part] for part, version in versions.items())


def _versions_of(config: Mapping[str, Any], before: str = "") -> dict[str, int]:
    """Return the versions of the methods of a run and of the runs it depends on, by their place in its configuration.

    >>> _versions_of({"code": {"version": 2}, "start": {"code": {"version": 1}}})
    {'code': 2, 'start.code': 1}
    """
    found = {}
    if "version" in (code := config.get("code", {})):
        found[f"{before}code"] = int(code["version"])
    for part in OTHER_CELLS:
        if part in config:
            found |= _versions_of(config[part], f"{before}{part}.")
    return found
