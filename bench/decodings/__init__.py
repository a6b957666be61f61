"""Decodings: the ways to turn next-token distributions into text, a file each; README.md says how to add one."""

from __future__ import annotations

from bench.base.entries import Entry

__all__ = ["DECODINGS", "SYNONYMS"]

DECODINGS = {
    "greedy": Entry("bench.decodings.greedy:Greedy", "the most probable token, again and again"),
    "beam": Entry(
        "bench.decodings.beam:Beam", "the best of several texts that are continued side by side", "Wu et al. 2016"
    ),
    "topk": Entry("bench.decodings.topk:TopK", "draw among the k most probable tokens", "Fan et al. 2018"),
    "nucleus": Entry(
        "bench.decodings.nucleus:Nucleus",
        "draw among the fewest tokens with a mass of p",
        "Holtzman et al. 2020",
    ),
    "sample": Entry("bench.decodings.sample:Sample", "draw from the whole distribution"),
    "min_p": Entry(
        "bench.decodings.min_p:MinP", "draw among tokens not much less probable than the best", "Nguyen et al. 2024"
    ),
    "typical": Entry(
        "bench.decodings.typical:Typical", "draw among tokens of about the expected surprise", "Meister et al. 2023"
    ),
    "eta": Entry(
        "bench.decodings.eta:Eta", "draw among tokens above a floor, lower with entropy", "Hewitt et al. 2022"
    ),
    "mirostat": Entry(
        "bench.decodings.mirostat:Mirostat", "draw so that surprise stays at a target, by feedback", "Basu et al. 2021"
    ),
    "contrastive_search": Entry(
        "bench.decodings.contrastive_search:ContrastiveSearch",
        "a probable token whose state is unlike all before it",
        "Su et al. 2022",
        needs="k forward passes a token",
    ),
}
"""Name -> entry; `--decode` takes these, `module:Name` and `file.py:Name`."""

SYNONYMS = {
    "topp": "nucleus",
    "top": "topk",
    "sampling": "sample",
    "ancestral": "sample",
    "random": "sample",
    "typicalp": "typical",
    "locallytypical": "typical",
    "etacutoff": "eta",
    "etasampling": "eta",
    "beamsearch": "beam",
    "numbeams": "beam",
    "greedysearch": "greedy",
    "argmax": "greedy",
    "contrastive": "contrastive_search",
    "simctg": "contrastive_search",
    "penaltyalpha": "contrastive_search",
}
"""Other words for our decodings, without capitals, `-` and `_`: what is suggested when one of them is typed."""
