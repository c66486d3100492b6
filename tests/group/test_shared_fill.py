"""Values of features that add up to what is needed, against all choices."""

from itertools import product

import numpy as np
import pytest

from skcf.group._shared_fill import Range, Values, cheapest

STEP = 0.25


class Parabola:
    """The cost of a number, as SharedNumber tells it: square around a middle."""

    def __init__(self, middle, steep):
        self.middle, self.steep, self.kinks = middle, steep, np.array([middle])

    def smooth(self, numbers):
        return self.steep * (np.asarray(numbers) - self.middle) ** 2

    def slope(self, numbers, side="right"):
        return 2 * self.steep * (np.asarray(numbers) - self.middle)

    def least(self, low, high):
        return float(np.clip(self.middle, low, high))


def features(seed):
    random = np.random.default_rng(seed)
    lists = [
        Values(random.normal(size=4).round(1), random.random(4).round(2))
        for _ in range(3)
    ]
    slope = float(random.choice([-1.0, 1.0]) * (0.5 + random.random()))
    own = Parabola(float(random.normal()), float(0.2 + random.random()))
    return lists, Range(own, -2.0, 2.0, 0.3, slope), random.normal() + 2.0


def snap(numbers):
    return np.round(np.asarray(numbers) / STEP) * STEP


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("step", [None, STEP], ids=["any number", "grid"])
def test_cheapest_of_all_choices(seed, step):
    lists, number, need = features(seed)
    parts = [(v, None, None) for v in lists]
    parts.append((number, None if step is None else snap, step))
    choices, bound, none = cheapest(parts, need)
    points = np.arange(-2.0, 2.0 + 1e-9, STEP if step else 1e-3)
    base, cost = number.base + number.slope * points, number.own.smooth(points)
    best = np.inf
    for some in product(range(4), repeat=3):
        gain = sum(v.gain[i] for v, i in zip(lists, some, strict=True))
        paid = sum(v.cost[i] for v, i in zip(lists, some, strict=True))
        ok = base + gain >= need
        best = min(best, paid + cost[ok].min(initial=np.inf))
    if np.isinf(best):
        assert none and choices is None and bound == np.inf
        return
    # The fine grid stands in for all numbers: it is a little dearer.
    near = 1e-9 if step else 5e-3
    assert best - near <= bound <= best + 1e-9
    pairs = list(zip(lists, choices[:3], strict=True))
    gain = sum(v.gain[i] for v, i in pairs) + number.base + number.slope * choices[3]
    paid = sum(v.cost[i] for v, i in pairs) + number.own.smooth(choices[3])
    assert gain >= need - 1e-9 and paid == pytest.approx(bound, abs=1e-9)
