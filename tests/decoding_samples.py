"""What models wrote under decoders: a few texts of the sweep's store, kept beside its curves for the article.

The store's rows are not committed; these texts are, with the words that they go on from (public-domain text).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bench.leaderboards.quality_diversity.section import Section
    from bench.store.store import Store

BESIDE = ("nucleus=0.95", "contrastive_search=4", "topk=3+repetition_penalty=1.2")
"""Settings under which maximum likelihood is shown, beside the one that all models are shown under."""
SAID = (
    "Texts of the first seed, {length} tokens at most, that go on from the same words of the test split: all models "
    "under `{reference}`, maximum likelihood under other decoders too."
)


def samples_of(store: Store, found: Sequence[Section]) -> dict[str, Any]:
    """Return one prompt, how people go on, and how each model does: method and setting to text."""
    from bench.leaderboards.quality_diversity.decoders import REFERENCE
    from bench.leaderboards.render.extras import texts_of

    (section,) = found
    written: dict[str, Mapping[str, str]] = {}
    for model in section.models:
        for setting, row in model.rows.items():
            if setting == REFERENCE or (model.method == "mle" and setting in BESIDE):
                written[f"{model.method}, {setting}"] = texts_of(store, section.table, row)
    shared = set.intersection(*(set(texts) for texts in written.values()))
    name = min(shared)
    prompt, human = asked(store, name)
    lengths = {model.conditions.max_new_tokens for model in section.models}
    return {
        "id": name,
        "length": min(length for length in lengths if length is not None),
        "prompt": prompt,
        "human": human,
        "texts": {label: texts[name] for label, texts in sorted(written.items(), key=_order)},
    }


def _order(item: tuple[str, Mapping[str, str]]) -> tuple[bool, str]:
    """Maximum likelihood first."""
    return not item[0].startswith("mle,"), item[0]


def asked(store: Store, name: str) -> tuple[str, str]:
    """Return the prompt of a row and how people go on."""
    for cell in store.cells():
        for path in cell.names("rows-*.jsonl.gz"):
            key = path.removeprefix("rows-").removesuffix(".jsonl.gz")
            stored = cell.rows(key)
            if stored is not None and stored.content["kind"] == "generation":
                for row in stored.rows:
                    if row["id"] == name:
                        return row["prompt"], row["reference"]
    raise ValueError(f"expected a row '{name}' with its prompt in {store}, found none")


def lines(path: Path) -> list[str]:
    """Return the section of the article, as Markdown."""
    from bench.leaderboards.quality_diversity.decoders import REFERENCE
    from bench.leaderboards.render.markdown_table import escaped, markdown_table

    kept = json.loads(path.read_text(encoding="utf-8"))
    rows = [["**the words before**", escaped(kept["prompt"])], ["**people**", escaped(kept["human"])]]
    rows += [[f"`{label}`", escaped(text)] for label, text in kept["texts"].items()]
    said = SAID.format(length=kept["length"], reference=REFERENCE)
    return ["## What they wrote", "", said, "", *markdown_table(["model", "text"], rows)]
