"""Small real rows for the tester of every metric family, and the tiny models that it scores them with."""

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from bench.metrics.diversity import mauve
from bench.metrics.faithfulness import (
    dae,
    entity_precision,
    factcc,
    nli_acc,
    spacy_models,
    tapas,
    tapex,
    verifiers,
)
from bench.metrics.faithfulness.dae import Arc, Parsed
from bench.metrics.faithfulness.ptb_tokens import ptb_tokens
from tests.metrics import tiny_dae, tiny_encoders, tiny_nli, tiny_verifiers

Rows = Sequence[Mapping[str, Any]]
Gold = Mapping[str, Mapping[str, Any]]

LAST_BITS = 0 if sys.version_info < (3, 12) else 1e-14
"""sacrebleu adds logarithms by `sum`, which Python 3.12 made more exact; ours are the same bits on every Python."""
TAGGER = "capitals"
DEFAULTS = {"SIMCSE": "sup-simcse-bert-base-uncased", "MAUVE": "gpt2-large"}
"""Folders with the names of the default models, whose columns have none in brackets."""
MODELS = {
    "FACTCC": tiny_verifiers.bert, "TAPEX": tiny_verifiers.bart, "TAPAS": tiny_verifiers.tapas,
    "NLI": tiny_nli.nli, "DAE": tiny_dae.electra, "SIMCSE": tiny_encoders.encoder, "MAUVE": tiny_encoders.reader,
}  # fmt: skip
TABLE = {"header": ["region", "length", "year"], "rows": [["Aldra", "10", "1990"], ["Sorn", "", "2001"]]}
OTHER = {"header": ["river", "share"], "rows": [["Aldra", "7.10"], ["Vale", "01"], ["Sorn", "3"]]}
# Text, its references, source.
WRITTEN = [
    ("The Aldra rose by two in the year.", ["The Aldra rose by two in a year.", "It rose."], "In Sorn the Aldra rose."),
    ("", ["No one was hurt in Sorn."], "No one in the region of Sorn was hurt."),
    ("Sorn", ["Sorn is one of two."], "It was Sorn, and no one else."),
    ("The river fell. It fell in Vale.", ["The river fell in Vale."], "In Vale, the long river Vale fell."),
    ("No one was hurt in Sorn.", ["No one was hurt in Sorn."], "No one in the region of Sorn was hurt."),
    ("The Aldra rose by two in the year.", ["Aldra and Sorn rose."], "Aldra was no longer than the Sorn."),
    (
        "It was it was it was it was it was it was it was.",
        ["It was the longest year of Vale."],
        "Vale was the longest.",
    ),
    ("Three of the rows: one, two and Aldra", ["Three of three rows."], "There are three rows: the Aldra and two."),
    ("A region of Vale is not in the Sorn region.", ["Vale is not in Sorn.", "Sorn is no Vale."], "Vale is a region."),
]


def written() -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
    """Rows of a task with sources, references and tables; their ids are not in the order of the rows."""
    words = {
        word: i
        for i, word in enumerate(sorted({w for t, refs, _ in WRITTEN for one in (t, *refs) for w in one.split()}))
    }
    rows, gold = [], {}
    for number, (text, references, source) in enumerate(WRITTEN):
        name = f"test/{number * 5 % len(WRITTEN):02}"
        ids, true = ([words[word] for word in one.split()] for one in (text, references[0]))
        rows.append({"id": name, "text": text, "token_ids": ids, "reference": references[0], "reference_ids": true,
                     "truncated": number % 2})  # fmt: skip
        gold[name] = {"references": references, "target": references[0], "source": source, "title": "rivers of Vale",
                      "table": TABLE if number % 2 else OTHER, "columns": (number % 2, 1)}  # fmt: skip
    return rows, gold


def as_reference(rows: Rows, gold: Gold) -> tuple[Rows, Gold]:
    """Every text is its only reference."""
    same = [{**row, "text": row["reference"], "token_ids": row["reference_ids"]} for row in rows]
    return same, {row["id"]: {**gold[row["id"]], "references": [row["reference"]]} for row in rows}


def as_source(rows: Rows, gold: Gold) -> tuple[Rows, Gold]:
    """Every text is its source."""
    return [{**row, "text": gold[row["id"]]["source"]} for row in rows], gold


def emptied(rows: Rows) -> Rows:
    """Every text is empty."""
    return [{**row, "text": "", "token_ids": []} for row in rows]


def with_prompts(rows: Rows, gold: Gold) -> Rows:
    """Rows of an open-ended task."""
    return [{**row, "prompt": gold[row["id"]]["source"]} for row in rows]


def capitals(texts: Sequence[str], tagger: str = TAGGER) -> list[list[str]]:
    """A tagger that needs no model: runs of words with a capital."""
    return [re.findall(r"[A-Z]\w+(?: [A-Z]\w+)*", text) for text in texts]


def chains(ids: Sequence[str], texts: Sequence[str], *_: Any) -> list[Parsed]:
    """In place of a file of arcs: every word depends on the one before."""
    words = [ptb_tokens(text) for text in texts]
    return [Parsed(tuple(some), tuple(Arc(i, i - 1, "dep") for i in range(1, len(some)))) for some in words]


def compute_mauve(p_features: Any, q_features: Any, **_: Any) -> SimpleNamespace:
    """In place of mauve-text, which is optional: 1 for the same features, less the further apart their means are.

    As there, the order of the rows matters a little.
    """
    means = [np.average(one, axis=0, weights=1 + 1e-9 * np.arange(len(one))) for one in (p_features, q_features)]
    return SimpleNamespace(mauve=float(np.exp(-np.abs(means[0] - means[1]).mean())))


LOADERS = {"FACTCC": factcc.load_factcc, "TAPEX": tapex.load_tapex, "TAPAS": tapas.load_tapas, "NLI": nli_acc.load_nli}


def model(variable: str) -> Any:
    """A tiny verifier."""
    return LOADERS[variable](os.environ[f"BENCH_{variable}"])


def set_up(root: Path, patch: Any) -> None:
    """Be a machine that has everything: tiny models in a folder, stand-ins of optional packages."""
    for variable, make in MODELS.items():
        folder = root / DEFAULTS.get(variable, variable.lower())
        folder.mkdir()
        make(folder)
        patch.setenv(f"BENCH_{variable}", str(folder))
    patch.setenv("BENCH_CACHE", str(root / "cache"))
    (root / "arcs.tsv").write_text("id\tcontext\tdep_idx0\n")
    patch.setenv("BENCH_DAE_ARCS", str(root / "arcs.tsv"))
    put_stand_ins(patch)


def put_stand_ins(patch: Any) -> None:
    """Put small things in place of optional packages, in this process."""
    patch.setitem(
        sys.modules, "mauve", SimpleNamespace(compute_mauve=compute_mauve, __spec__=ModuleSpec("mauve", None))
    )
    patch.setattr(mauve, "version", lambda package: "0.0")
    patch.setenv("BENCH_NER", TAGGER)
    patch.setattr(entity_precision, "missing", lambda requirements: "")
    patch.setattr(spacy_models, "versioned", lambda tagger: f"{tagger}-0.0")
    patch.setattr(entity_precision, "spacy_entities", capitals)
    patch.setattr(entity_precision, "stop_words", lambda: {"the"})
    patch.setattr(dae, "arcs_of", chains)


def balance(variable: str, decide: Callable[[], Any]) -> None:
    """Move the last bias of a verifier so that both answers occur when it decides: one answer would show nothing."""
    verifier, folder, margins = model(variable), Path(os.environ[f"BENCH_{variable}"]), []
    real = verifiers.logits_of

    def keeping(*given: Any) -> Any:
        found = real(*given)
        margins.extend(row[verifier.label] - row[1 - verifier.label] for row in found)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verifiers, "logits_of", keeping)
        decide()
    low, high = (sorted(margins)[len(margins) // 2 - i] for i in (1, 0))
    with torch.no_grad():
        bias = [weights for name, weights in verifier.model.named_parameters() if name.endswith("bias")][-1]
        assert bias.shape == (2,)
        bias[verifier.label] -= (low + high) / 2
    if variable == "NLI":
        unused = tiny_nli.unused(tiny_verifiers.SIZES["hidden_size"])
        torch.save(verifier.model.state_dict() | unused, folder / tiny_nli.FILE)
    else:
        verifier.model.save_pretrained(folder)
    verifiers.loaded.cache_clear()
