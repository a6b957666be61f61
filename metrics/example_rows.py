"""Example rows: two or four rows of each kind, as stored, for showing a family's columns and signatures."""

from typing import Any

TEXTS = (
    ("Ada Lund led the team to the cup in Vale.", "Ada Lund won the cup in Vale in 1998."),
    ("The river rose by two feet after the rain.", "After the rain the river rose by nearly two feet."),
    ("No one was hurt when the bridge at Sorn fell.", "The bridge at Sorn fell, and no one was hurt."),
    ("The cup was won in Vale by two points.", "Vale won the cup by two points."),
)
TABLE = {"header": ["player", "goals", "club"], "rows": [["ada lund", "7", "vale"], ["ida moe", "3", "sorn"]]}


def example_rows(kind: str) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
    """Return rows of a kind and what they are compared with, by id.

    Args:
        kind: `likelihood`, `probe`, `spectrum`, `generation` or `forgetting`.

    >>> rows, gold = example_rows("likelihood")
    >>> rows[0]["nll_sum"], sorted(gold)[:2]
    (21.0, ['test/0', 'test/1'])
    """
    if kind == "spectrum":
        return [{"id": "singular_values", "shape": [3, 2], "values": [2.0, 0.5], "rows": 1}], {"singular_values": {}}
    make = {"likelihood": _likelihood, "probe": _probe, "generation": _generation, "forgetting": _forgetting}[kind]
    rows = [{"id": f"test/{i}", **make(text, true)} for i, (text, true) in enumerate(TEXTS)]
    gold = {}
    for row, (text, true) in zip(rows, TEXTS, strict=True):
        gold[row["id"]] = {
            "target": true,
            "references": [true],
            "source": f"{true} {text}",
            "table": TABLE,
            "title": "cup of vale",
            "columns": (0, 1),
        }
    return rows, gold


def _likelihood(text: str, true: str) -> dict[str, Any]:
    words = true.split()
    return {
        "nll_sum": 2.0 * len(words) + 3.0,
        "n_tokens": len(words) + 1,
        "n_words": len(words),
        "n_bytes": len(true.encode()),
        "n_cached": len(words) // 2,
        "n_cache_hits": len(words) % 3,
    }


def _forgetting(text: str, true: str) -> dict[str, Any]:
    words = len(true.split())
    return {"nll_sum": 3.0 * words, "kl_sum": 0.25 * words, "n_tokens": words}


def _probe(text: str, true: str) -> dict[str, Any]:
    ranking = list(range(25))
    return {"head": ranking, "full": ranking[::-1], "cache": ranking, "wanted": [[len(text) % 7], [3, 30]]}


def _generation(text: str, true: str) -> dict[str, Any]:
    words = sorted({word for pair in TEXTS for word in " ".join(pair).split()})
    ids = [words.index(word) for word in text.split()]
    return {
        "text": text,
        "token_ids": ids,
        "prompt": "Vale, 1998.",
        "reference": true,
        "reference_ids": [words.index(word) for word in true.split()],
        "groups": [len(ids), 1, 0, 2],
        "reference_groups": [len(true), 1, 1, 1],
    }
