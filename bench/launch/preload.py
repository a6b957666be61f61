"""Preload: what the fork server does so that its children need not: it imports, and asks git for the commit.

Nothing here may start a thread or a device.
"""

import lightning.pytorch  # noqa: F401
import transformers  # noqa: F401
import transformers.models.bart.modeling_bart
import transformers.models.gpt2.modeling_gpt2  # noqa: F401

import bench.cells.record
import bench.cells.run
import bench.cells.work
import bench.generation.generation
import bench.launch.child  # noqa: F401
from bench.store.provenance import code_state

code_state()
