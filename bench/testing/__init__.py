"""Tests that every objective, task, metric, backbone and decoding must pass (`bench check`)."""

from bench.testing.objective import BACKBONES, CHECKS, check_objective
from bench.testing.plugins import check_backbone, check_decoding, check_metric, check_task
from bench.testing.report import Result

__all__ = ["BACKBONES", "CHECKS", "Result"]
__all__ += ["check_backbone", "check_decoding", "check_metric", "check_objective", "check_task"]
