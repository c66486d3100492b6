import numpy as np
import pytest

from skcf._model import Goal, check_interval, check_target

CLASSES = np.array(["a", "b", "c"])


def test_labels():
    label, opposite = check_target("b", 3, CLASSES)
    assert label.tolist() == [1, 1, 1] and not opposite.any()
    label, opposite = check_target(["c", None, "opposite"], 3, CLASSES)
    assert label.tolist() == [2, -1, -1] and opposite.tolist() == [False, True, True]
    label, _ = check_target(np.array([3, 1]), 2, np.array([1, 3]))
    assert label.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("d", "target 'd' is not a class of the estimator.*'a', 'b', 'c'"),
        (["a", "b"], "target has 2 entries for 3 rows"),
        (["a", "q", "b"], "target 'q' is not a class"),
    ],
)
def test_bad_labels(target, message):
    with pytest.raises(ValueError, match=message):
        check_target(target, 3, CLASSES)


def test_intervals():
    low, high = check_interval((None, 2), 2)
    assert low.tolist() == [-np.inf, -np.inf] and high.tolist() == [2, 2]
    low, high = check_interval([(0, 1), (5, None)], 2)
    assert low.tolist() == [0, 5] and high.tolist() == [1, np.inf]


@pytest.mark.parametrize("target", ["opposite", None, 3.0, (1, 2, 3), "12", [("a", 1)]])
def test_bad_intervals(target):
    with pytest.raises(ValueError, match=r"must be \(low, high\)"):
        check_interval(target, 1)


def test_interval_errors_name_the_row():
    with pytest.raises(ValueError, match=r"row 1 is empty: low > high"):
        check_interval([(0, 1), (3, 2)], 2)
    with pytest.raises(ValueError, match="2 intervals for 3 rows"):
        check_interval([(0, 1), (3, 4)], 3)


def test_reached():
    goal = Goal(label=np.array([0, 0, 1]), opposite=np.array([False, True, True]))
    assert goal.reached(np.array([0, 2, 1])).tolist() == [True, True, False]
    p = np.array([[0.6, 0.4], [0.6, 0.4], [0.75, 0.25]])
    strict = Goal(goal.label, goal.opposite, nu=0.7)
    assert strict.mass(p) == pytest.approx([0.6, 0.4, 0.75])
    assert strict.reached(np.array([0, 1, 0]), p).tolist() == [False, False, True]
    ends = Goal(low=np.array([1.0, 1.0, 1.0]), high=np.array([2.0, 2.0, 2.0]))
    assert ends.reached(np.array([1.0, 2.0, 2.1])).tolist() == [True, True, False]
