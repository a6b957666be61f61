"""Queue: many workers on one store. Cells of a plan are claimed by lease files; no worker reads another one's clock."""
