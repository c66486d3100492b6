"""Pictures of counterfactual explanations."""

from skcf.display._changes import ChangesDisplay

__all__ = ["ChangesDisplay"]
