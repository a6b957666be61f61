"""Sizes: models of one family, a small GPT-2, near a number of parameters without embeddings."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

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
        name: its parameters, such as "0.1M": of a shape of a family those that the family asks for, else its own.
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

    >>> size_near(0.1), size_near(2)
    (Size(name='0.1M', width=64, layers=2), Size(name='1.9M', width=160, layers=6))
    """
    width, layers = shape_near(millions)
    parameters, goal = parameters_of(width, layers), millions * MILLION
    if abs(parameters - goal) > OFF * goal:
        raise UsageError(
            f"no model of the family {BACKBONE} comes within 10 % of {millions:g}M parameters; the nearest has "
            f"{parameters:,}. Give another size"
        )
    return Size(rung_name(width, layers), width, layers)


@cache
def shape_near(millions: float) -> tuple[int, int]:
    """Return width and layers with the nearest number of parameters."""
    found: list[tuple[int, int]] = []
    for width in range(HEAD_WIDTH, MOST_WIDTH + 1, HEAD_WIDTH):
        most = width // LEAST_ASPECT
        least = max(1, -(-width // MOST_ASPECT))
        found += [(width, layers) for layers in range(least, most + 1)]
    return min(found, key=lambda shape: abs(parameters_of(*shape) - millions * MILLION))


def parse_sizes(text: str) -> tuple[Size, ...]:
    """Read what was typed after --sizes: the name of a family, or sizes in millions with commas, smallest first.

    Raises:
        UsageError: it is neither, the sizes do not grow, or two of them are too near to be told apart.

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
    sizes = tuple(map(size_near, millions))
    names = [size.name for size in sizes]
    if len(set(names)) < len(names):
        raise UsageError(f"--sizes takes sizes that differ, not '{text}', whose models have {', '.join(names)}")
    return sizes


def rung_name(width: int, layers: int) -> str:
    """Return the name of a model's size: that of the family's size with its shape, else its own parameters.

    >>> rung_name(64, 2), rung_name(96, 2), rung_name(768, 14)
    ('0.1M', '0.22M', '99M')
    """
    for millions in (*FAMILIES["cpu"], *FAMILIES["gpu"]):
        if shape_near(millions) == (width, layers):
            return f"{millions:g}M"
    millions = parameters_of(width, layers) / MILLION
    if millions >= 10:
        return f"{millions:.0f}M"
    return f"{millions:.2g}M"
