"""Decoders: the settings under which every model writes, as many of each family.

A family with more settings has more chances to look good, so each has the same number. The settings go from cautious to
free, around those that the papers of the decoders use (bench/decodings/README.md). They are typed as they are stored:
contrastive search without an alpha has 0.6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["FAMILIES", "REFERENCE", "SETTINGS", "WHOLE", "asked", "length_of", "setting_of"]

REFERENCE = "topk=3"
"""The setting under which an objective's gain is measured: what the tasks of open-ended text decode with."""

FAMILIES: Mapping[str, tuple[str, ...]] = {
    "temperature": ("sample+temperature=0.5", "sample+temperature=0.75", "sample"),
    "topk": (REFERENCE, "topk=20", "topk=100"),
    "nucleus": ("nucleus=0.5", "nucleus=0.8", "nucleus=0.95"),
    "min_p": ("min_p=0.3", "min_p=0.1", "min_p=0.03"),
    "typical": ("typical=0.2", "typical=0.5", "typical=0.9"),
    "eta": ("eta=0.002", "eta=0.0009", "eta=0.0003"),
    "contrastive_search": (
        "contrastive_search=4+alpha=0.2",
        "contrastive_search=4+alpha=0.4",
        "contrastive_search=4",
    ),
    "penalty": (
        "topk=3+repetition_penalty=1.1",
        "topk=3+repetition_penalty=1.2",
        "topk=3+repetition_penalty=1.5",
    ),
}
"""Family -> its settings."""

SETTINGS: tuple[str, ...] = sum(FAMILIES.values(), ())

WHOLE = "posterior:"
"""Before a decoding: a method with a distribution of its own, such as F2-Softmax, writes by its whole one."""

LENGTH = "+max_new_tokens="


def asked(max_new_tokens: int, settings: Sequence[str] = SETTINGS) -> str:
    """Return settings as they are typed after --decode.

    >>> asked(64, ("topk=3", "sample"))
    'topk=3+max_new_tokens=64,sample+max_new_tokens=64'
    """
    return ",".join(f"{setting}{LENGTH}{max_new_tokens}" for setting in settings)


def setting_of(decoding: str) -> str:
    """Return the setting of a stored decoding, without the length of its texts and whose distribution it cuts.

    >>> setting_of("topk=3+max_new_tokens=64"), setting_of("sample"), setting_of("posterior:min_p=0.1")
    ('topk=3', 'sample', 'min_p=0.1')
    """
    parts = decoding.removeprefix(WHOLE).split("+")
    return "+".join(part for part in parts if not f"+{part}".startswith(LENGTH))


def length_of(decoding: str) -> int | None:
    """Return the length of the texts of a stored decoding; None where it names none, and the task decides.

    >>> length_of("topk=3+max_new_tokens=64"), length_of("sample")
    (64, None)
    """
    for part in decoding.split("+"):
        if f"+{part}".startswith(LENGTH):
            return int(f"+{part}".removeprefix(LENGTH))
    return None
