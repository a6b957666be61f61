"""Architectures: the sizes of pretrained backbones that are not on this machine, as their authors published them.

Nothing is downloaded. A folder, or a configuration in the hub's cache, comes first; any other model is unknown.
"""

from __future__ import annotations

from typing import Any

from bench.errors import MissingError
from bench.models.backbones.hub import location
from bench.models.backbones.published_sizes import PUBLISHED, published_config

__all__ = ["configuration"]


def configuration(name: str, path: str = "") -> Any:
    """Return the configuration of a pretrained backbone, without the network.

    Args:
        name: a name of `BACKBONES`, a hub id, or a folder.
        path: a local folder in place of the hub.

    Raises:
        MissingError: it is neither a folder, nor in the hub's cache, nor in the table.
    """
    import transformers

    place = path or location(name)
    try:
        return transformers.AutoConfig.from_pretrained(place, local_files_only=True)
    except (OSError, ValueError) as error:
        if place not in PUBLISHED:
            raise MissingError(
                f"the sizes of '{place}' are not known: it is no folder, its configuration is not in the hub's cache, "
                f"and it is not in the table of models/backbones/published_sizes.py"
            ) from error
    return published_config(place)
