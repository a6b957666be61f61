"""Time the singular values of a log-probability matrix against a plain float64 decomposition, and compare the ranks.

The matrices are a quarter of a published one on each side: a softmax of width 192 over 12564 words (rank 193), and the
same with a cache in every row (full rank). Processor time on one thread; the plain form runs once a matrix, as it takes
most of the time.

    python tools/benchmarks/matrix_rank.py
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from torch import Tensor

from bench.metrics.likelihood.matrix_rank import Precision, rank_of, singular_values

PRECISIONS: tuple[Precision, ...] = ("float32", "float64")
CACHED = 6
"""Words that the cache of a row holds."""


def make_matrices(contexts: int, words: int, width: int) -> dict[str, Tensor]:
    """Log-probabilities `[contexts, words]` of a softmax, and of its mean with a cache."""
    generator = torch.Generator().manual_seed(0)
    states = 3 * torch.randn(contexts, width, generator=generator, dtype=torch.float64)
    heads = torch.randn(words, width, generator=generator, dtype=torch.float64)
    softmax = (states @ heads.T / width**0.5).log_softmax(dim=-1)
    chosen = torch.randint(words, (contexts, CACHED), generator=generator)
    weights = torch.rand(contexts, CACHED, generator=generator, dtype=torch.float64)
    cache = torch.zeros_like(softmax).scatter(1, chosen, weights).clamp_(min=0)
    cache /= cache.sum(dim=1, keepdim=True)
    return {"softmax": softmax, "with a cache": (0.5 * softmax.exp() + 0.5 * cache).log()}


def timed(form: Callable[[], Tensor]) -> tuple[Tensor, float]:
    """What a call returns, and its processor time."""
    start = time.process_time()
    found = form()
    return found, time.process_time() - start


def main() -> None:
    """Print times, their ratio, ranks of both forms at both tolerances and the largest difference of values."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("contexts", 1187), ("words", 12564), ("width", 192), ("repeats", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args()
    torch.set_num_threads(1)
    shape = (args.contexts, args.words)
    print(f"{shape[0]} x {shape[1]}, width {args.width}, 1 thread, least processor time of {args.repeats}; plain once")
    for name, matrix in make_matrices(*shape, args.width).items():
        values, ours = min(
            (timed(lambda m=matrix: singular_values(m)) for _ in range(args.repeats)), key=lambda f: f[1]
        )
        plain, theirs = timed(lambda m=matrix: torch.linalg.svdvals(m))
        ranks = [[rank_of(of, shape, precision) for precision in PRECISIONS] for of in (values, plain)]
        far = float((values - plain).abs().max() / plain.max())
        print(f"{name:14}{ours:7.2f} s, plain {theirs:6.2f} s: {theirs / ours:.1f}x; ", end="")
        print(f"ranks at float32 and float64 {ranks[0]}, plain {ranks[1]}; largest difference {far:.0e} of the largest")


if __name__ == "__main__":
    main()
