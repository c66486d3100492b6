import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from skcf._search._single import _by_cost


@settings(max_examples=30, deadline=None)
@given(pairs=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), max_size=30))
def test_costs_are_sorted_within_rows(pairs):
    pairs = np.array(sorted(pairs, key=lambda p: p[0]), dtype=np.int64).reshape(-1, 2)
    row, cost = pairs[:, 0], pairs[:, 1].astype(float)
    wanted = np.lexsort((np.arange(len(row)), cost, row))
    assert_array_equal(_by_cost(row, cost), wanted)
