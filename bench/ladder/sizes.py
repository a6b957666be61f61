"""Sizes: models of one family, a small GPT-2, near a number of parameters without embeddings."""

from __future__ import annotations

from dataclasses import dataclass

from bench.errors import UsageError, did_you_mean

__all__ = ["BACKBONE", "FAMILIES", "Size", "parameters_of", "parse_sizes", "rung_name", "size_near"]

BACKBONE = "small-causal"
HEAD_WIDTH = 32
MILLION = 1_000_000
OFF = 0.1
"""Largest relative difference between the parameters of a size and those that were asked for."""
LEAST_ASPECT, MOST_ASPECT = 24, 64
"""Width of a layer over the number of layers; GPT-2 small has 64."""
MOST_WIDTH = 1600
FAMILIES = {"cpu": (0.1, 1.0, 10.0), "gpu": (4.0, 16.0, 60.0)}
"""Millions of parameters, for two CPU cores and for one GPU."""


@dataclass(frozen=True)
class Size:
    """The shape of one model.

    Args:
        name: the parameters that were asked for, such as "0.1M".
        width: of a state.
        layers: their number.
    """

    name: str
    width: int
    layers: int

    @property
    def heads(self) -> int:
        """Heads of attention in each layer."""
        return self.width // HEAD_WIDTH

    @property
    def parameters(self) -> int:
        """The true number of parameters, without embeddings of tokens and positions."""
        return parameters_of(self.width, self.layers)

    @property
    def sets(self) -> tuple[str, ...]:
        """The shape as it is typed after --set."""
        return (f"backbone.width={self.width}", f"backbone.layers={self.layers}", f"backbone.heads={self.heads}")


def parameters_of(width: int, layers: int) -> int:
    """Return the parameters of a GPT-2 without its embeddings of tokens and positions.

    A layer has 12 width^2 in its matrices and 13 width in biases and norms; a norm of 2 width stands behind them all.

    >>> parameters_of(768, 12)
    85056000
    """
    return layers * (12 * width**2 + 13 * width) + 2 * width


def size_near(millions: float) -> Size:
    """Return the shape with the nearest number of parameters, of those that are neither flat nor thin.

    Args:
        millions: of parameters without embeddings.

    Raises:
        UsageError: no shape comes within 10 %.

    >>> size_near(0.1)
    Size(name='0.1M', width=64, layers=2)
    """
    name, goal = f"{millions:g}M", millions * MILLION
    found: list[Size] = []
    for width in range(HEAD_WIDTH, MOST_WIDTH + 1, HEAD_WIDTH):
        most = width // LEAST_ASPECT
        least = max(1, -(-width // MOST_ASPECT))
        found += [Size(name, width, layers) for layers in range(least, most + 1)]
    best = min(found, key=lambda size: abs(size.parameters - goal))
    if abs(best.parameters - goal) > OFF * goal:
        raise UsageError(
            f"no model of the family {BACKBONE} comes within 10 % of {name} parameters; the nearest has "
            f"{best.parameters:,}. Give another size"
        )
    return best


def parse_sizes(text: str) -> tuple[Size, ...]:
    """Read what was typed after --sizes: the name of a family, or sizes in millions with commas, smallest first.

    Raises:
        UsageError: it is neither, or the sizes do not grow.

    >>> [size.name for size in parse_sizes("0.1M,1M")]
    ['0.1M', '1M']
    """
    if text in FAMILIES:
        return tuple(map(size_near, FAMILIES[text]))
    try:
        millions = [float(part.strip().removesuffix("M")) for part in text.split(",")]
    except ValueError:
        raise UsageError(
            f"--sizes takes {' or '.join(FAMILIES)}, or millions of parameters such as 0.1M,1M,10M, not '{text}'"
            f"{did_you_mean(text, FAMILIES)}"
        ) from None
    if sorted(set(millions)) != millions or millions[0] <= 0:
        raise UsageError(f"--sizes takes sizes above 0 that grow, such as 0.1M,1M,10M, not '{text}'")
    return tuple(map(size_near, millions))


def rung_name(width: int, layers: int) -> str:
    """Return the name of a stored model's size: that of the family's size with its shape, else its own parameters.

    >>> rung_name(64, 2), rung_name(96, 2)
    ('0.1M', '0.22M')
    """
    for millions in (*FAMILIES["cpu"], *FAMILIES["gpu"]):
        size = size_near(millions)
        if (size.width, size.layers) == (width, layers):
            return size.name
    return f"{parameters_of(width, layers) / MILLION:.2g}M"
