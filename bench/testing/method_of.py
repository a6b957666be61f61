"""Method of: the method that a check is asked about, by its name or as somebody's own class."""

from __future__ import annotations

import inspect
from typing import Any

from bench.base.own_code import load
from bench.config.resolve import Method, find_method, method_names
from bench.errors import UsageError
from bench.models import METHODS
from bench.models.core.objective import Objective


def method_of(what: type[Objective] | str) -> Method:
    """Return a method by its class or as typed; a stranger's class may still lack a proper name.

    Raises:
        UsageError: for what is no objective, or more than one.
    """
    if isinstance(what, str) and ":" not in what:
        every = method_names([what], controls=False)
        if len(every) > 1:
            raise UsageError(f"'{what}' stands for {', '.join(every)}; name one of them")
        method = find_method(every[0])
        if not issubclass(method.kind, Objective):
            raise UsageError(f"'{what}' is a baseline, which is not trained; there is nothing to check")
        return method
    kind: Any = what
    if isinstance(what, str):
        kind = load(what)
    if not (inspect.isclass(kind) and issubclass(kind, Objective)):
        raise UsageError(f"'{what}' is not a subclass of bench.models.core.objective.Objective")
    target = f"{kind.__module__}:{kind.__qualname__}"
    for name, entry in METHODS.items():
        if entry.target == target:
            return find_method(name)
    name = str(getattr(kind, "name", kind.__name__))
    return Method(name, kind, dict(kind.settings), {"class": target}, kind.parent, asked=target, defaults=kind.defaults)
