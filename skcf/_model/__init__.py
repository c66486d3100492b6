"""The model as the searches see it."""

from skcf._model._black_box import BlackBox, Meter
from skcf._model._goal import TOLERANCE, Goal, check_interval, check_target

__all__ = ["TOLERANCE", "BlackBox", "Goal", "Meter", "check_interval", "check_target"]
