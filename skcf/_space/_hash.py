"""Bits that are well mixed, and the random numbers made of them."""

import numpy as np


def mix(state):
    """Return well-mixed 64 bits (the finaliser of SplitMix64)."""
    with np.errstate(over="ignore"):
        state = state + np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


def uniform(state):
    """Return numbers in [0, 1) from well-mixed bits."""
    return (state >> np.uint64(11)) * 2.0**-53
