"""Testing: what every objective must keep to, for built-ins and for anybody's own class (`bench check`)."""

from bench.testing.contract import BACKBONES, CHECKS, check_objective
from bench.testing.report import Report, Result

__all__ = ["BACKBONES", "CHECKS", "Report", "Result", "check_objective"]
