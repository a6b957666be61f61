"""`python -m tools.figure1 RESULTS`: the next word of HistAlign's Figure 1, before and after fine-tuning, as a picture.

RESULTS is a store with checkpoints of the first seed, such as `make real` makes. Where a search has picked a learning
rate, its run is taken. A method predicts with all that it has, head and cache.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import torch

from bench.decodings.searches import Greedy
from bench.errors import MissingError
from bench.generation.continuation import Continuation
from bench.integrations.folder import trained_objective
from bench.store.store import CellFolder, Store
from tools.svg import COLOURS, drawing, svg_of

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "pictures" / "figure1.svg"
PROMPT = "After debating whether to bow to the woman or the king, the jester decided to bow to the"
"""HistAlign (Wan et al. 2023), Figure 1: `woman` and `king` are possible, `queen` is the hallucination."""
WORDS = ("king", "woman", "queen", "man")
UNTOUCHED = "mle.untrained"
METHODS = {UNTOUCHED: "before fine-tuning"} | {name: name for name in ("mle", "trime.released", "histalign.released")}
SEED = 0


def stored_cell(store: Store, method: str) -> CellFolder:
    """Return the run of a method.

    Raises:
        MissingError: the store has none, or its checkpoint was not kept.
    """
    for folder in sorted(
        store.cells(), key=lambda folder: not folder.contents("grid-*.json")
    ):  # those that a search picked first
        record = folder.trained()
        if folder.path.parent.name != method or record is None or record["config"]["seed"] != SEED:
            continue
        if method == UNTOUCHED or folder.has_checkpoint(record["model"]["checkpoint_sha256"]):
            return folder
    raise MissingError(f"expected a checkpoint of {method} in '{store.root}', found none; run: make real")


def next_words(run: CellFolder) -> dict[str, float]:
    """Return the probability of each of the words after the prompt."""
    objective, codec, _ = trained_objective(run, weights=run.path.parent.name != UNTOUCHED)
    objective.eval()
    prompt, *words = codec.ids([PROMPT, *(f" {word}" for word in WORDS)])
    batch = codec.prompt_batch([codec.encode("0", prompt, [], ends=False)])
    with torch.no_grad():
        (log_probs,) = Continuation(objective, Greedy(), batch).log_probs()
    return {word: float(log_probs[tokens[0]].exp()) for word, tokens in zip(WORDS, words, strict=True)}


def picture(probabilities: Mapping[str, Mapping[str, float]]) -> str:
    """Return the SVG of a panel of bars for each method, a bar for each word."""
    from matplotlib.figure import Figure

    with drawing():
        figure = Figure(figsize=(8, 2.2), layout="constrained")
        panels = figure.subplots(1, len(probabilities), sharex=True, sharey=True)
        for ax, (method, words) in zip(panels, probabilities.items(), strict=True):
            colours = [COLOURS[1] if word == "queen" else COLOURS[0] for word in words]
            ax.bar_label(ax.barh(list(words), list(words.values()), color=colours), fmt="%.2f", padding=2)
            ax.set(title=METHODS[method], xlim=(0, 1.15), xticks=(0, 0.5, 1))
        panels[0].invert_yaxis()
        figure.suptitle(f"“{PROMPT} …”", fontsize=8)
        figure.supxlabel("probability of the next word", fontsize=8)
    return svg_of(figure)


def main(results: str) -> int:
    """Print the probabilities as a table in Markdown, and draw them."""
    store = Store(Path(results))
    found = {method: next_words(stored_cell(store, method)) for method in METHODS}
    print(f"| after fine-tuning by | {' | '.join(WORDS)} |\n|---|{'---:|' * len(WORDS)}")
    for method, words in found.items():
        print(f"| {METHODS[method]} | {' | '.join(f'{value:.3f}' for value in words.values())} |")
    PICTURE.write_text(picture(found), encoding="utf-8")
    print(PICTURE)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
