"""The feature space: kinds, domains, scales; exact encoding and decoding."""

from skcf._space._candidates import PAD, Candidates
from skcf._space._frames import container_of, kind_of
from skcf._space._hash import mix, uniform
from skcf._space._space import FeatureSpace

__all__ = [
    "PAD",
    "Candidates",
    "FeatureSpace",
    "container_of",
    "kind_of",
    "mix",
    "uniform",
]
