"""Preload: what the fork server imports so that its children need not. Nothing here may start a thread or a device."""

import lightning.pytorch  # noqa: F401
import transformers  # noqa: F401
import transformers.models.bart.modeling_bart
import transformers.models.gpt2.modeling_gpt2  # noqa: F401

import bench.cells.generation
import bench.cells.job
import bench.cells.run
import bench.cells.work
import bench.queue.child  # noqa: F401
