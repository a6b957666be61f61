"""Pretrained: the public models that metrics and backbones need, where they are, and their download."""
