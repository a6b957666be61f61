"""Preload: what the fork server does so that its children need not: it imports, and asks git for the commit.

Nothing here may start a thread or a device.
"""

import signal
from importlib import import_module

from bench.store.provenance import code_state

MODULES = (
    "lightning.pytorch",
    "transformers.models.bart.modeling_bart",
    "transformers.models.gpt2.modeling_gpt2",
    "bench.cells.record",
    "bench.cells.run",
    "bench.cells.work",
    "bench.generation.generation",
    "bench.launch.child",
)

# Ctrl-C reaches this process too. Its parent ends it; an import that is interrupted would print a traceback.
before = signal.signal(signal.SIGINT, signal.SIG_IGN)
for name in MODULES:
    import_module(name)
code_state()
signal.signal(signal.SIGINT, before)
