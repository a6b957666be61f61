"""Testing: what methods, tasks, metrics, backbones and decodings must keep to (`bench check`)."""

from bench.testing.contract import BACKBONES, CHECKS, check_objective
from bench.testing.report import Report, Result

__all__ = ["BACKBONES", "CHECKS", "Report", "Result", "check_objective"]
