"""Nearest training rows."""

from skcf._index._exact import TrainingRows

__all__ = ["TrainingRows"]
