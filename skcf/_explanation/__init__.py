"""What an explainer found, and how it is told."""

from skcf._explanation._result import STATUSES, Explanation

__all__ = ["STATUSES", "Explanation"]
