"""Which solver a model gets."""

from skcf._mip._causal import CausalCost
from skcf._mip._goal_rows import check_threshold
from skcf._mip._interval import IntervalSolver
from skcf._mip._linear import LinearSolver
from skcf._mip._network import NetworkSolver
from skcf._mip._tree_solver import TreeSolver
from skcf._model._dense import Layers
from skcf._model._trees import FlatTrees
from skcf.exceptions import UnsupportedConstraintError

PROVABLE = (
    "trees and ensembles of trees of scikit-learn, XGBoost and LightGBM, linear models "
    "and networks of rectified linear units, behind steps that encode column by column"
)


def solver_for(model, space, rules, cost, *, boxes=None, plausible=None):
    """Return the solver for a model, None where there is none.

    Parameters
    ----------
    model : BlackBox
    space : FeatureSpace
    rules : RuleSet
    cost : BoundCost or CausalCost
    boxes : Boxes, default=None
        Those of another solver of the same model, for the same ranges.
    plausible : Plausible, default=None
        For trees alone.
    """
    kernel = getattr(model.view, "kernel", None)
    if isinstance(kernel, FlatTrees) and isinstance(cost, CausalCost):
        if plausible is not None:
            raise ValueError("plausibility does not go with effects between columns.")
        # Such a cost is no sum over features, which the search takes for granted.
        return IntervalSolver(model, space, rules, cost, boxes)
    if isinstance(kernel, FlatTrees):
        try:
            return TreeSolver(model, space, rules, cost, boxes, plausible)
        except UnsupportedConstraintError:
            if plausible is not None:
                raise
            # Rules that compare fine numbers need these as variables.
            return IntervalSolver(model, space, rules, cost, boxes)
    if isinstance(kernel, Layers) and plausible is None:
        one = len(kernel.weights) == 1 or kernel.activation == "identity"
        if one or kernel.activation == "relu":
            kind = LinearSolver if one else NetworkSolver
            return kind(model, space, rules, cost)
    return None


def check_target(model, target, threshold):
    """Raise in fit for a target that no solver of the model can take.

    Parameters
    ----------
    model : BlackBox
    target : as of an explainer
    threshold : float or None
    """
    if model.regression or not isinstance(getattr(model.view, "kernel", None), Layers):
        return
    opposite = isinstance(target, str) and target == "opposite"
    opposite = opposite and len(model.classes_) > 2
    check_threshold(model, threshold, opposite and "opposite" not in model.classes_)
