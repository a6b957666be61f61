"""Cheats: what somebody might do to a store for a better number, each a function that takes the store.

To add one, write another function `cheat_...` with a docstring, here or in a file `cheats_....py` beside this one; the
tools of store_tools.py make files fit each other again. `test_cheats.py` finds it and says whether the audit does.
Write it without a look into bench/audit: the cheats of this file were written by somebody who knew the checks.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.audit.records import rows_key_again
from bench.base.keys import key_of
from bench.store.store import CellFolder, Store
from tests.bench.audit.store_tools import (
    Content,
    cell,
    data_of,
    edit_lines,
    edit_record,
    edit_rows,
    rows_path,
    run,
    run_anew,
    score_again,
)

# Numbers and records ----------------------------------------------------------------------------------------------


def cheat_edited_score(store: Path) -> None:
    """A stored value is half a perplexity."""
    folder = cell(store)
    for name in folder.names("scores-*.json"):

        def halve(content: Content) -> None:
            for value in content["values"]:
                if value["name"].startswith("ppl/"):
                    value["value"] /= 2

        edit_record(folder.path / name, halve)


def cheat_scores_of_another_cell(store: Path) -> None:
    """The scores of one seed are put beside the rows of the other."""
    mine, other = cell(store, 0), cell(store, 1)
    for pattern in ("scores-*.json", "items-*"):
        for name in mine.names(pattern):
            (mine.path / name).unlink()
        for name in other.names(pattern):
            shutil.copy(other.path / name, mine.path / name)
    of = {rows.content["kind"]: rows for rows in mine.all_rows()}
    for name in mine.names("scores-*.json"):

        def relabel(content: Content) -> None:
            rows = of[content["of"]["kind"]]
            content |= {"of": rows.content, "rows": rows.key, "rows_sha256": rows.sha256}

        edit_record(mine.path / name, relabel)


def cheat_edited_settings(store: Path) -> None:
    """The record says another learning rate than the one that was used, under the old key."""
    edit_record(cell(store).path / "trained.json", lambda content: content["config"]["trainer"].update(lr=0.1))


def cheat_official_data(store: Path) -> None:
    """The record calls data official that is none."""

    def call_official(content: Content) -> None:
        for manifest in content["data"].values():
            manifest["status"] = "official"

    folder = cell(store)
    edit_record(folder.path / "trained.json", call_official)
    for kind in ("likelihood", "generation"):
        edit_rows(rows_path(folder, kind), lambda content, rows: content.update(status="official"))
    score_again(store, folder)


def cheat_fewer_steps_said(store: Path) -> None:
    """A model that was trained for longer is shown as one of three steps."""
    folder = cell(store)
    shutil.rmtree(folder.path)
    longer = store.parent / "longer"
    run(longer, sets=("trainer.steps=30", "trainer.warmup=0"), seeds="0")
    other = cell(longer)
    become(other, folder, store, trainer={"steps": 3, "warmup": 0.1})


def become(made: CellFolder, shown: CellFolder, store: Path, **changes: Content) -> None:
    """Show a cell that was made under the key and with the configuration of another one."""
    shutil.copytree(made.path, shown.path)
    key = shown.path.name

    def relabel(content: Content) -> None:
        content["key"] = key
        for section, values in changes.items():
            if isinstance(values, dict):
                content["config"][section].update(values)
            else:
                content["config"][section] = values
        content["train"]["steps"] = 3
        content["train"]["curve"] = content["train"]["curve"][:3]

    edit_record(shown.path / "trained.json", relabel)
    relabel_rows(shown)
    score_again(store, shown)


def relabel_rows(folder: CellFolder, **changes: Any) -> None:
    """Let rows say that they are of the cell whose folder they lie in."""
    for kind in ("likelihood", "generation"):
        path = rows_path(folder, kind)
        (rows,) = [rows for rows in folder.all_rows() if rows.content["kind"] == kind]
        content = {**rows.content, "trained": folder.path.name, **changes}
        key = rows_key_again(content)
        assert key is not None
        edit_rows(path, lambda header, _, new=content: header.update(new), key)


def cheat_copied_seed(store: Path) -> None:
    """One training is shown as two seeds."""
    mine, other = cell(store, 0), cell(store, 1)
    shutil.rmtree(other.path)
    shutil.copytree(mine.path, other.path)

    def relabel(content: Content) -> None:
        content["key"] = other.path.name
        content["config"]["seed"] = 1

    edit_record(other.path / "trained.json", relabel)
    relabel_rows(other, seed=1)
    score_again(store, other)


def cheat_checkpoint_of_another_cell(store: Path) -> None:
    """The weights of one seed are put in the place of the other's, whose rows stay."""
    mine, other = cell(store, 0), cell(store, 1)
    (own,) = mine.names("model-*")
    (given,) = other.names("model-*")
    (mine.path / own).unlink()
    shutil.copy(other.path / given, mine.path / given)
    record = other.trained()
    assert record is not None
    digest = record["model"]["checkpoint_sha256"]
    edit_record(mine.path / "trained.json", lambda content: content["model"].update(checkpoint_sha256=digest))


# Rows -------------------------------------------------------------------------------------------------------------


def edited_rows(store: Path, kind: str, change: Any) -> None:
    """Change rows of one cell and score them."""
    folder = cell(store)
    edit_rows(rows_path(folder, kind), change)
    score_again(store, folder)


def cheat_edited_likelihoods(store: Path) -> None:
    """Every likelihood is a little better."""

    def improve(content: Content, rows: list[Content]) -> None:
        for row in rows:
            row["nll_sum"] *= 0.97

    edited_rows(store, "likelihood", improve)


def cheat_edited_texts(store: Path) -> None:
    """A few texts are the references."""
    titles = (data_of(store) / "gigaword" / "task1_ref0.txt").read_text(encoding="utf-8").splitlines()

    def copy(content: Content, rows: list[Content]) -> None:
        for row, title in list(zip(rows, titles, strict=True))[:2]:
            row["text"] = title

    edited_rows(store, "generation", copy)


def more(name: str) -> Any:
    """Return a change that doubles a count of every row."""

    def double(content: Content, rows: list[Content]) -> None:
        for row in rows:
            row[name] *= 2

    return double


def cheat_word_count(store: Path) -> None:
    """Perplexity per word is over twice as many words."""
    edited_rows(store, "likelihood", more("n_words"))


def cheat_byte_count(store: Path) -> None:
    """Perplexity per byte is over twice as many bytes."""
    edited_rows(store, "likelihood", more("n_bytes"))


def cheat_token_count(store: Path) -> None:
    """Perplexity per token is over twice as many tokens."""
    edited_rows(store, "likelihood", more("n_tokens"))


def cheat_fewer_rows(store: Path) -> None:
    """The worst rows are left out, and the header says nothing of it."""

    def drop(content: Content, rows: list[Content]) -> None:
        rows.sort(key=lambda row: float(row["nll_sum"] / row["n_tokens"]))
        del rows[-4:]
        rows.sort(key=lambda row: str(row["id"]))

    edited_rows(store, "likelihood", drop)


def cheat_chosen_rows(store: Path) -> None:
    """The worst rows are left out, and everything says that it is a subset."""
    folder = cell(store)
    path = rows_path(folder, "likelihood")
    (rows,) = [rows for rows in folder.all_rows() if rows.content["kind"] == "likelihood"]
    best = sorted(rows.rows, key=lambda row: float(row["nll_sum"] / row["n_tokens"]))[:8]
    ids = sorted(str(row["id"]) for row in best)
    hashed = {"n": len(ids), "sha256": key_of(ids)}
    content = {**rows.content, "ids": hashed, "of_rows": hashed["sha256"], "whole_split": False}

    def keep(header: Content, every: list[Content]) -> None:
        header.update(content)
        every[:] = [row for row in every if row["id"] in ids]

    key = rows_key_again(content)
    assert key is not None
    edit_rows(path, keep, key)
    score_again(store, folder)


# Data -------------------------------------------------------------------------------------------------------------


def cheat_target_in_source(store: Path) -> None:
    """Test sources end with their target."""
    edit_lines(store, "test", appended)
    run_anew(store, seeds="0")


def appended(sources: list[str], targets: list[str]) -> None:
    """Append each target to its source."""
    sources[:] = [f"{source} {target}" for source, target in zip(sources, targets, strict=True)]


def cheat_target_in_every_source(store: Path) -> None:
    """All sources end with their target, so that a model learns to copy it."""
    for split in ("train", "valid", "test"):
        edit_lines(store, split, appended)
    run_anew(store, seeds="0")


def cheat_test_rows_in_training(store: Path) -> None:
    """The test rows are trained on."""
    add_rows(store, "train", "test")
    run_anew(store, seeds="0")


def add_rows(store: Path, split: str, other: str) -> None:
    """Add the rows of another split to a split."""
    found: list[list[str]] = []
    edit_lines(store, other, lambda sources, targets: found.extend([sources, targets]))

    def add(sources: list[str], targets: list[str]) -> None:
        sources += found[0]
        targets += found[1]

    edit_lines(store, split, add)


def cheat_validation_is_test(store: Path) -> None:
    """The validation split is the test split, so that whatever it chooses is chosen by that."""
    edit_lines(store, "valid", lambda sources, targets: (sources.clear(), targets.clear()))
    add_rows(store, "valid", "test")
    run_anew(store, seeds="0")


def cheat_truncated_references(store: Path) -> None:
    """References are the first words of the headlines."""

    def cut(sources: list[str], targets: list[str]) -> None:
        targets[:] = [" ".join(target.split()[:3]) for target in targets]

    edit_lines(store, "test", cut)
    run_anew(store, seeds="0")


def cheat_easy_rows_repeated(store: Path) -> None:
    """An easy row of the test split counts six times."""

    def repeat(sources: list[str], targets: list[str]) -> None:
        sources += [sources[0]] * 5
        targets += [targets[0]] * 5

    edit_lines(store, "test", repeat)
    run_anew(store, seeds="0")


def cheat_target_in_exemplars(store: Path) -> None:
    """Training rows have the headlines of the test split, with sources that are nearest to the test rows'."""
    add_rows(store, "train", "test")

    def disguise(sources: list[str], targets: list[str]) -> None:
        sources[-12:] = [f"{source} indeed" for source in sources[-12:]]

    edit_lines(store, "train", disguise)
    shutil.rmtree(store)
    run(store, "--backbone", "bilstm", method="attexp", seeds="0", sets=("backbone.exemplar_width=8",))


# Code -------------------------------------------------------------------------------------------------------------


def own_method(store: Path, name: str, body: str) -> None:
    """Run a method of one's own in place of what is stored."""
    (store.parent / "code" / f"own_{name}.py").write_text(
        "import torch\nfrom bench.models.core.objective import Objective\n\n\n"
        f"class Own(Objective):\n    name = 'own_{name}'\n    paper = 'ours'\n\n{body}",
        encoding="utf-8",
    )
    run_anew(store, method=f"own_{name}:Own", seeds="0")


def cheat_unnormalised_distribution(store: Path) -> None:
    """The probabilities of a method sum to more than one."""
    body = "    def log_probs(self, rows):\n        return torch.log_softmax(self.logits(rows), -1) + 0.7\n"
    own_method(store, "unnormalised", body)


def cheat_distribution_that_knows_the_target(store: Path) -> None:
    """A method adds to the score of the token that it is to predict."""
    body = (
        "    def log_probs(self, rows):\n        scores = self.logits(rows)\n"
        "        known = rows.targets.clamp(min=0)[:, None]\n"
        "        scores = scores.scatter_add(1, known, torch.full_like(scores[:, :1], 3.0))\n"
        "        return torch.log_softmax(scores, -1)\n"
    )
    own_method(store, "knowing", body)


def cheat_changed_code_under_an_old_key(store: Path) -> None:
    """Maximum likelihood is trained with another loss under its own name and version."""
    from bench.models.mle import MLE

    with pytest.MonkeyPatch.context() as patch:
        kind: Any = MLE
        whole = kind.loss

        def smaller(self: Any, states: Any) -> Any:
            result = whole(self, states)
            return replace(result, total=result.total * 0.5)

        patch.setattr(kind, "loss", smaller)
        run_anew(store, seeds="0")


def cheat_wrong_tokenizer(store: Path) -> None:
    """Rows are counted in the tokens of a smaller vocabulary than the record says."""
    from bench.tasks.gigaword import Gigaword

    with pytest.MonkeyPatch.context() as patch:
        whole = Gigaword.tokenizer
        patch.setattr(Gigaword, "tokenizer", lambda self, vocabulary: whole(self, 300))
        run_anew(store, seeds="0")


def cheat_tuning_on_test(store: Path) -> None:
    """A search is recorded whose losses are those of the test split."""
    run_anew(store, "--trials", "2", seeds="0")
    losses = {}
    for folder in Store(store).cells():
        for rows in folder.all_rows():
            if rows.content["kind"] == "likelihood" and rows.content["split"] == "test":
                nll = sum(row["nll_sum"] for row in rows.rows)
                losses[folder.path.name] = nll / sum(row["n_tokens"] for row in rows.rows)
    for folder in Store(store).cells():
        for name in folder.names("grid-*.json"):

            def by_test(content: Content) -> None:
                for combination in content["tried"]:
                    (key,) = combination["keys"].values()
                    combination["nll"] = losses.get(key, 99.0)

            edit_record(folder.path / name, by_test)
