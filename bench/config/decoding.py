"""Decoding texts: from what a user types after `--decode` to decodings.

    greedy, topk=3+temperature=0.7, decoupled:nucleus=0.9, my_decodings.py:TopA=0.2+max_new_tokens=50

A comma stands between decodings and a `+` before each option. Of `first:rest`, `first` is a distribution if it has the
name of one (`model`, `posterior`, `decoupled`, `f2_released`), or if `rest` is a decoding of ours; else both are
`module:Name` or `file.py:Name`. A module that is called like a distribution is written after one:
`model:posterior:Name`. The path of a file has no comma, `+`, `=` or `:` in it.
"""

from typing import Any

from bench.base.options import read_options, words_of
from bench.base.registry import find
from bench.decodings import DECODINGS
from bench.decodings.core.decoding import DISTRIBUTIONS, Decoding, Distribution, PluginOrigin
from bench.errors import UsageError, did_you_mean

SIGNS = ",+=:"
"""Characters that separate decodings, options and values; the path of a file cannot contain them."""


def parse(text: str) -> list[Decoding]:
    """Read decodings as users type them: a comma between decodings, a `+` before each option.

    Raises:
        UsageError: naming what is unknown or out of range.
        MissingError: the module of a plug-in is not there.

    >>> [d.text for d in parse("greedy, topk=3, decoupled:nucleus=0.9, beam=4+length_penalty=2+early_stopping")]
    ['greedy', 'topk=3', 'decoupled:nucleus=0.9', 'beam=4+length_penalty=2.0+early_stopping']
    """
    decodings: list[Decoding] = []
    for part in text.split(","):
        decoding = _decoding(part.strip())
        if decoding in decodings:
            raise UsageError(f"decoding '{decoding.text}' is given twice")
        decodings.append(decoding)
    return decodings


def _decoding(text: str) -> Decoding:
    """Read one decoding."""
    if not text:
        raise UsageError(f"a decoding is missing; there are: {', '.join(DECODINGS)}, for example topk=3 or beam=4")
    head, *options = (part.strip() for part in text.split("+"))
    target, sign, value = (part.strip() for part in head.partition("="))
    distribution, target = _split(target)
    kind, plugin = _found(target)
    main, given = kind.main_option, dict[str, Any]()
    if sign and not main:
        raise UsageError(f"{kind.name} takes no value")
    if main and not value:
        words = words_of(kind.options()[main][0])
        raise UsageError(f"{kind.name} needs a value: type {kind.name}={main}, where {main} is {words}")
    if main:
        given[main] = value
    names = [name for name in kind.options() if name != main]
    for option in options:
        name, sign, value = (part.strip() for part in option.partition("="))
        if name not in names:
            raise UsageError(f"there is no option of {kind.name} decoding '{name}'{did_you_mean(name, names)}")
        if name in given:
            raise UsageError(f"{name} is given twice in '{text}'")
        given[name] = value if sign else "true"
    given |= {"distribution": distribution, "plugin": plugin}
    return kind(**read_options(kind, given, f"decoding '{kind.name}'"))


def _split(target: str) -> tuple[Distribution, str]:
    """Return the distribution and the rest of what was typed, as the rule at the top of this file says."""
    first, colon, rest = target.partition(":")
    if not colon:
        return "model", target
    for distribution in DISTRIBUTIONS:
        if first == distribution:
            return distribution, rest
    if rest in DECODINGS or ":" in rest:
        raise UsageError(f"there is no distribution '{first}'{did_you_mean(first, DISTRIBUTIONS)}")
    return "model", target


def _found(target: str) -> tuple[type[Decoding], PluginOrigin | None]:
    """Return the class that a name, `module:Name` or `file.py:Name` stands for, and the origin of a plug-in."""
    if target in DECODINGS:
        return DECODINGS[target].load(), None
    if ":" not in target:
        raise UsageError(f"there is no decoding '{target}'{did_you_mean(target, DECODINGS)}")
    loaded = find(target, DECODINGS, "decoding", parents=["bench.decodings.core.decoding:Decoding"])
    spec, place = loaded.spec, loaded.spec.rpartition(":")[0]
    if any(sign in place for sign in SIGNS):  # a folder above the file has one: workers start in the same place
        spec = target
    return loaded.value, PluginOrigin(spec, loaded.code["class"], loaded.code["source_sha256"])
