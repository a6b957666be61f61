"""Decodings: the ways to turn next-token distributions into text; README.md shows how to add one."""

from bench.base.registry import Entry

DECODINGS = {
    "greedy": Entry("bench.decodings.searches:Greedy", "the most probable token, again and again"),
    "beam": Entry(
        "bench.decodings.searches:Beam", "the best of several texts that are continued side by side", "Wu et al. 2016"
    ),
    "topk": Entry("bench.decodings.samplers:TopK", "draw among the k most probable tokens", "Fan et al. 2018"),
    "nucleus": Entry(
        "bench.decodings.samplers:Nucleus",
        "draw among the fewest tokens with a mass of p",
        "Holtzman et al. 2020",
    ),
    "sample": Entry("bench.decodings.samplers:Sample", "draw from the whole distribution"),
    "min_p": Entry(
        "bench.decodings.samplers:MinP", "draw among tokens not much less probable than the best", "Nguyen et al. 2024"
    ),
    "typical": Entry(
        "bench.decodings.samplers:Typical", "draw among tokens of about the expected surprise", "Meister et al. 2023"
    ),
    "contrastive_search": Entry(
        "bench.decodings.searches:ContrastiveSearch",
        "a probable token whose state is unlike all before it",
        "Su et al. 2022",
        needs="k forward passes a token",
    ),
}
"""Name -> entry; `--decode` takes these, `module:Name` and `file.py:Name`."""
