"""The cheapest counterfactual of a network, by whatever is fastest."""

import numpy as np

from skcf._mip._relu import ReluSolver, held_units
from skcf._mip._unit_search import Numbers, UnitSearch


class NetworkSolver(ReluSolver):
    """Least cost for a network with rectified linear units.

    Numbers without a grid whose changes cost squares are searched by branch and bound
    over the units: lines under squares make large programs. Everything else is a
    mixed-integer program.

    Parameters
    ----------
    model : BlackBox
    space : FeatureSpace
    rules : RuleSet
    cost : BoundCost

    Raises
    ------
    ValueError
        If the activation is neither "relu" nor "identity".
    UnsupportedConstraintError
        For a rule that is no set of linear rows.
    """

    def _by_program(self, case, rows, turn, top):
        numbers = Numbers.read(self, case, rows)
        # A query that is in the target as it is has nothing to search for.
        if numbers is None or (numbers.net.shortage(0.0 * numbers.low) <= 0).all():
            return super()._by_program(case, rows, turn, top)
        matters = np.concatenate(held_units(self.layers, rows))
        return UnitSearch(self, case, rows, numbers, matters, top).run()
