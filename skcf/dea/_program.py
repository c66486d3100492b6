"""The linear programs of data envelopment analysis, solved by HiGHS.

They know nothing of facets, and so judge what the facets claim.
"""

import logging

import numpy as np

from skcf._mip._highs import TOLERANCE, new_highs

logger = logging.getLogger("skcf")
DUAL, PRIMAL = 1, 4
ENDS = ("optimal", "infeasible", "unbounded")
# Where a program begins shows in the digits after these.
DECIMALS = 12
# Bounds on the sum of the weights, by returns to scale.
SUMS = {
    "crs": (-np.inf, np.inf),
    "vrs": (1.0, 1.0),
    "drs": (-np.inf, 1.0),
    "irs": (1.0, np.inf),
}


class Program:
    """The program of one measure over one set of units, for one plan after another.

    Its variables are a factor, of the inputs or of the outputs, and the weights of the
    units; its rows are inputs, outputs and the sum of the weights.

    It holds a solver and so cannot be pickled or shared: make one for each call.

    Parameters
    ----------
    x : ndarray of shape (n_units, n_inputs)
    y : ndarray of shape (n_units, n_outputs)
        In units in which the columns have means near 1.
    returns_to_scale : {"crs", "vrs", "drs", "irs"}
    measure : {"input", "output"}
    """

    def __init__(self, x, y, returns_to_scale, measure):
        self.n_inputs, self.n_outputs = x.shape[1], y.shape[1]
        self.n_units, self.measure = len(x), measure
        # What a unit of weight adds to the slacks, inputs and outputs alike.
        self._sums = y.sum(axis=1) - x.sum(axis=1)
        units = np.column_stack([-x, y, np.ones(len(x))])
        low, high = SUMS[returns_to_scale]
        n_rows = units.shape[1]
        self.highs = highs = new_highs()
        for name in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            highs.setOptionValue(name, TOLERANCE)
        # For so few rows, presolving takes longer than it saves.
        highs.setOptionValue("presolve", "off")
        none = np.empty(0, dtype=np.int32)
        highs.addRows(
            n_rows,
            np.r_[np.zeros(n_rows - 1), low],
            np.r_[np.full(n_rows - 1, np.inf), high],
            0,
            none,
            none,
            np.empty(0),
        )
        self._add_factor(n_rows)
        every = np.arange(n_rows, dtype=np.int32)
        highs.addCols(
            len(x),
            np.zeros(len(x)),
            np.zeros(len(x)),
            np.full(len(x), np.inf),
            units.size,
            np.arange(len(x), dtype=np.int32) * n_rows,
            np.tile(every, len(x)),
            units.ravel(),
        )

    def _add_factor(self, n_rows):
        """Add the factor to be minimised, or maximised in the case of outputs."""
        sign = 1.0 if self.measure == "input" else -1.0
        every = np.arange(n_rows, dtype=np.int32)
        self.highs.addCol(sign, 0.0, np.inf, n_rows, every, np.zeros(n_rows))

    def set_rows(self, along, at):
        """Set the rows ``factor * along + units >= at`` of inputs and outputs."""
        # HiGHS takes small coefficients for none, and tiny plans have no others.
        self._size = np.abs(along).max() or 1.0
        for i, coefficient in enumerate(along / self._size):
            self.highs.changeCoeff(i, 0, float(coefficient))
        for i, bound in enumerate(at):
            self.highs.changeRowBounds(i, float(bound), np.inf)

    def solve(self, anew=True):
        """Return (status, factor, weights); the factor is NaN if not "optimal".

        Where there are several weights, those found hang on where the search begins;
        `anew` makes them a matter of the plan alone.
        """
        if anew:
            self.highs.clearSolver()
        status = self._run()
        if status not in ENDS:
            # Amounts of all sizes can be too much for the dual simplex method.
            self.highs.clearSolver()
            self.highs.setOptionValue("simplex_strategy", PRIMAL)
            status = self._run()
            self.highs.setOptionValue("simplex_strategy", DUAL)
        if status not in ENDS:
            logger.warning("HiGHS ended a linear program of DEA with: %s.", status)
        if status != "optimal":
            return status, np.nan, np.zeros(self.n_units)
        values = np.array(self.highs.getSolution().col_value)
        return status, values[0] / self._size, values[1:]

    def _run(self):
        self.highs.run()
        return self.highs.modelStatusToString(self.highs.getModelStatus()).lower()

    def efficiency(self, x, y):
        """Return the efficiency of one plan, to twelve decimals.

        It is infinite where no units, however small a part of the inputs they take or
        the outputs they give, do what the plan does. It is NaN if HiGHS fails, as it
        may where amounts differ by ten orders of magnitude.
        """
        return np.round(self._evaluate(x, y, anew=False)[0], DECIMALS)

    def weights(self, x, y):
        """Return the weights of the units that one plan is held against."""
        return self._evaluate(x, y, anew=True)[1]

    def _evaluate(self, x, y, anew):
        if self.measure == "input":
            self.set_rows(np.r_[x, np.zeros(self.n_outputs)], np.r_[0.0 * x, y])
        else:
            self.set_rows(np.r_[np.zeros(self.n_inputs), -y], np.r_[-x, 0.0 * y])
        status, factor, weights = self.solve(anew)
        if status == "infeasible":
            return np.inf, weights
        if status == "unbounded":  # no outputs: they could be any multiple of them
            return 0.0, weights
        if self.measure == "input" or np.isnan(factor):
            return factor, weights
        return (1.0 / factor if factor > TOLERANCE else np.inf), weights

    def furthest(self, x, y, dx, dy):
        """Return the most steps that a plan can go along (-dx, dy); -inf if none."""
        self.set_rows(np.r_[-dx, -dy], np.r_[-x, y])
        self.highs.changeColBounds(0, -np.inf, np.inf)
        status, steps, _ = self.solve()
        self.highs.changeColBounds(0, 0.0, np.inf)
        return {"optimal": steps, "unbounded": np.inf}.get(status, -np.inf)

    def slacks(self, x, y):
        """Return the weights of the units that a plan exceeds the most.

        The sum of what its inputs exceed, and its outputs fall short of, those of the
        weighted units is the largest there is; None if no units are below the plan.
        """
        self.set_rows(np.zeros(len(x) + len(y)), np.r_[-x, y])
        every = np.arange(1, self.n_units + 1, dtype=np.int32)
        self.highs.changeColBounds(0, 0.0, 0.0)
        self.highs.changeColsCost(self.n_units, every, -self._sums)
        status, _, weights = self.solve()
        self.highs.changeColsCost(self.n_units, every, np.zeros(self.n_units))
        self.highs.changeColBounds(0, 0.0, np.inf)
        return weights if status == "optimal" else None
