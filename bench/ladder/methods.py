"""Methods of a ladder: at most twelve, the baseline first, one of each gradient."""

from __future__ import annotations

from collections.abc import Sequence

from bench.config.resolve import Method, find_method, method_names
from bench.errors import UsageError
from bench.leaderboards.statistics.baseline import BASELINE
from bench.models import one_gradient

__all__ = ["MOST", "chosen_methods"]

MOST = 12


def chosen_methods(typed: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return the methods of a ladder in the order they were typed, the baseline first, and why others are left out.

    Args:
        typed: names and groups.

    Raises:
        UsageError: a name is unknown, or there are more than twelve methods or fewer than two.
    """
    names = method_names(typed, controls=False)
    chosen: list[str] = []
    left_out: dict[str, str] = {}
    for name in dict.fromkeys([BASELINE, *names]):
        reason = why_not(find_method(name), chosen)
        if reason:
            left_out[name] = reason
        else:
            chosen.append(name)
    if len(chosen) > MOST:
        raise UsageError(
            f"a ladder has at most {MOST} methods, not {len(chosen)}: {', '.join(chosen)}; name fewer after --methods"
        )
    if len(chosen) < 2:
        reasons = "; ".join(f"{name} {reason}" for name, reason in left_out.items())
        raise UsageError(
            f"a ladder compares {BASELINE} with other methods; --methods has none ({reasons or 'no name'})"
        )
    return chosen, left_out


def why_not(method: Method, chosen: Sequence[str]) -> str:
    """Return why a method is in no ladder, or nothing."""
    if method.is_baseline or method.untrained:
        return "trains no weights"
    if method.own_backbone:
        return f"has a backbone of its own, {method.own_backbone}, which does not grow"
    for names in one_gradient().values():
        alike = [name for name in chosen if name in names]
        if method.name in names and alike:
            return f"has the gradient of {alike[0]}"
    return ""
