"""Which solver is exact for a model."""

from skcf._mip._causal import CausalCost
from skcf._mip._interval import IntervalSolver
from skcf._mip._linear import LinearSolver
from skcf._mip._relu import ReluSolver
from skcf._mip._tree_solver import TreeSolver
from skcf._model._dense import Layers
from skcf._model._trees import FlatTrees
from skcf.exceptions import UnsupportedConstraintError


def solver_for(model, space, rules, cost):
    """Return the exact solver for a model as it was read, None where there is none.

    Parameters
    ----------
    model : BlackBox
    space : FeatureSpace
    rules : RuleSet
    cost : BoundCost or CausalCost

    Raises
    ------
    ValueError
        For a network whose activation is no set of linear pieces.
    UnsupportedConstraintError
        For a rule that no solver of the model's family can honour.
    """
    kernel = getattr(model.view, "kernel", None)
    if isinstance(kernel, FlatTrees):
        if isinstance(cost, CausalCost):
            # Such a cost is no sum over features, which the search takes for granted.
            return IntervalSolver(model, space, rules, cost)
        try:
            return TreeSolver(model, space, rules, cost)
        except UnsupportedConstraintError:
            return IntervalSolver(model, space, rules, cost)
    if isinstance(kernel, Layers):
        linear = len(kernel.weights) == 1 or kernel.activation == "identity"
        return (LinearSolver if linear else ReluSolver)(model, space, rules, cost)
    return None
