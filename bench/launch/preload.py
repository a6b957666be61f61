"""Preload: what the fork server does so that its children need not: it imports, and asks git for the commit.

Nothing here may start a thread or a device.
"""

import signal

# Ctrl-C reaches this process too. Its parent ends it; an import that is interrupted would print a traceback.
before = signal.signal(signal.SIGINT, signal.SIG_IGN)

import lightning.pytorch  # noqa: E402, F401
import transformers  # noqa: E402, F401
import transformers.models.bart.modeling_bart  # noqa: E402
import transformers.models.gpt2.modeling_gpt2  # noqa: E402, F401

import bench.cells.record  # noqa: E402
import bench.cells.run  # noqa: E402
import bench.cells.work  # noqa: E402
import bench.generation.generation  # noqa: E402
import bench.launch.child  # noqa: E402, F401
from bench.store.provenance import code_state  # noqa: E402

code_state()
signal.signal(signal.SIGINT, before)
