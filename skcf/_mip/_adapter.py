"""Mixed-integer linear programs, written in PuLP and solved by HiGHS.

One class for the two lines of PuLP, 3.3 and 4, whose interfaces differ. PuLP is the
language: its variables, expressions and comparisons. Status and bound come from HiGHS,
since PuLP 3.3 calls a run that was cut off by time optimal.
"""

import numpy as np

from skcf._mip._highs import TOLERANCE, Outcome, Solver


class Mip:
    """A minimisation over numbers and integers under linear rows.

    It holds a solver and so cannot be pickled: make one for a solve, in the worker.

    Parameters
    ----------
    presolve : bool, default=True
        Whether HiGHS may rewrite the program first.
    tolerance : float, default=1e-9
        How far integers may be from whole, and rows from their bounds.
    """

    def __init__(self, presolve=True, tolerance=TOLERANCE):
        self.presolve, self.tolerance = presolve, tolerance
        # Imported late: most explainers never need it.
        import pulp

        self._pulp = pulp
        self._old = not hasattr(pulp.LpAffineExpression, "from_dict")
        self.problem = pulp.LpProblem("skcf", pulp.LpMinimize)
        self.variables = []
        self._place = {}
        self._low, self._high, self._integer = [], [], []
        self._rows, self._handed = [], (0, 0)
        self._objective = None
        self._solver = None
        self.impossible = False

    def variable(self, name, low=0.0, high=None, integer=False):
        """Return a new variable of PuLP."""
        name = f"{name}_{len(self.variables)}"
        kind = self._pulp.LpInteger if integer else self._pulp.LpContinuous
        low = None if low is None or low == -np.inf else float(low)
        high = None if high is None or high == np.inf else float(high)
        # Early releases of the line 3.3 do not have the method yet.
        make = getattr(self.problem, "add_variable", self._pulp.LpVariable)
        new = make(name, low, high, kind)
        self._place[name] = len(self.variables)
        self.variables.append(new)
        self._low.append(-np.inf if low is None else low)
        self._high.append(np.inf if high is None else high)
        self._integer.append(integer)
        return new

    def binary(self, name):
        """Return a new variable that is 0 or 1."""
        return self.variable(name, 0, 1, integer=True)

    def total(self, pairs, constant=0.0):
        """Return the sum of (variable or expression, factor) pairs as an expression."""
        sums = {}
        constant = float(constant)
        for term, factor in pairs:
            factor = float(factor)
            if isinstance(term, self._pulp.LpVariable):
                place = self._place[term.name]
                sums[place] = sums.get(place, 0.0) + factor
                continue
            if isinstance(term, (int, float)):
                constant += factor * term
                continue
            constant += factor * term.constant
            for variable, weight in term.items():
                place = self._place[variable.name]
                sums[place] = sums.get(place, 0.0) + factor * weight
        entries = {self.variables[i]: c for i, c in sums.items() if c}
        if self._old:
            return self._pulp.LpAffineExpression(entries, constant)
        return self._pulp.LpAffineExpression.from_dict(entries, constant)

    def require(self, row):
        """Add a row: a comparison of expressions, such as ``x + 2 * y <= 3``."""
        entries = [(self._place[v.name], c) for v, c in row.items() if c]
        right = -row.constant
        low = right if row.sense in (0, 1) else -np.inf
        high = right if row.sense in (0, -1) else np.inf
        if not entries:
            self.impossible |= not low <= 0.0 <= high
            return
        name = f"r{len(self._rows)}"
        self._rows.append((low, high, entries))
        self.problem.addConstraint(row, name)

    def minimize(self, expression):
        """Set the objective."""
        self._objective = self.total([(expression, 1.0)])
        self.problem.setObjective(self._objective)

    def value(self, expression, values):
        """Return the value of an expression at the values of an Outcome."""
        if isinstance(expression, self._pulp.LpVariable):
            return float(values[self._place[expression.name]])
        total = expression.constant
        for variable, factor in expression.items():
            total += factor * values[self._place[variable.name]]
        return float(total)

    def point(self, pairs):
        """Return values of all variables, 0 where none is given, for a warm start."""
        out = np.clip(np.zeros(len(self.variables)), self._low, self._high)
        for variable, value in pairs:
            out[self._place[variable.name]] = value
        return out

    def solve(
        self,
        *,
        time_limit=None,
        start=None,
        cutoff=None,
        gap=0.0,
        tell=None,
        relax=False,
        fixed=None,
        pins=(),
        solver=None,
    ):
        """Return the Outcome.

        Parameters
        ----------
        time_limit : float, default=None
            Seconds.
        start : ndarray of shape (n_variables,), default=None
            A point to begin with. HiGHS 1.16 was seen to report a false bound with
            one, so nothing that is to be proved is given one.
        cutoff : float, default=None
            Only what is better is wanted.
        gap : float, default=0
            The relative gap at which a solution is good enough.
        tell : callable, default=None
            Called with the best objective and the bound so far; False stops.
        relax : bool, default=False
            Whether integers may be any numbers.
        fixed : ndarray of shape (n_variables,), default=None
            Integers keep these values, rounded.
        pins : sequence of (variable, value), default=()
            Variables that keep a value this time.
        solver : str, default=None
            The name of another solver of PuLP. Of those it is not known what they
            proved, so their `bound` is nan; they take no start and no cutoff.
        """
        if self.impossible:
            return Outcome("infeasible", None, np.inf, np.inf)
        if solver is not None:
            return self._solve_elsewhere(solver, time_limit, gap)
        self._hand_over()
        pinned = [(self._place[v.name], float(value)) for v, value in pins]
        if fixed is not None:
            whole = np.flatnonzero(self._integer)
            pinned += [(int(i), float(np.rint(fixed[i]))) for i in whole]
        return self._solver.solve(
            time_limit=time_limit,
            start=start,
            cutoff=cutoff,
            gap=gap,
            tell=tell,
            relax=relax,
            pins=pinned,
        )

    def _hand_over(self):
        """Give HiGHS the columns and rows that it does not have, and the objective."""
        if self._solver is None:
            self._solver = Solver(self.presolve, self.tolerance)
        n_columns, n_rows = self._handed
        self._handed = len(self.variables), len(self._rows)
        if n_columns < len(self.variables):
            self._solver.add_columns(
                np.array(self._low[n_columns:]),
                np.array(self._high[n_columns:]),
                np.array(self._integer[n_columns:], dtype=bool),
            )
        rows = self._rows[n_rows:]
        if rows:
            size = np.array([len(entries) for _, _, entries in rows])
            flat = [pair for _, _, entries in rows for pair in entries]
            self._solver.add_rows(
                np.array([low for low, _, _ in rows]),
                np.array([high for _, high, _ in rows]),
                np.cumsum(size) - size,
                np.array([i for i, _ in flat]),
                np.array([c for _, c in flat]),
            )
        cost, offset = np.zeros(len(self.variables)), 0.0
        if self._objective is not None:
            offset = self._objective.constant
            for variable, factor in self._objective.items():
                cost[self._place[variable.name]] = factor
        self._solver.minimize(cost, offset)

    def _solve_elsewhere(self, name, time_limit, gap):
        """Solve by another solver of PuLP."""
        more = {} if time_limit is None else {"timeLimit": time_limit}
        try:
            made = self._pulp.getSolver(name, msg=False, gapRel=gap, **more)
        except self._pulp.PulpSolverError as error:
            raise ValueError(f"solver {name!r}: {error}") from None
        if not made.available():
            raise ValueError(f"The solver {name!r} of PuLP is not installed.")
        if self._objective is None:
            self.minimize(self.total([]))
        said = self.problem.solve(made)
        if self._old:
            found = self.problem.sol_status in (1, 2)
            proved = self.problem.sol_status == 1
            impossible = self.problem.sol_status == -1
        else:
            found, proved = said.has_solution, said.status == 1
            impossible = said.status == -1
        if impossible:
            return Outcome("infeasible", None, np.inf, np.nan)
        if not found:
            return Outcome("limit", None, np.inf, np.nan)
        values = np.array([v.varValue or 0.0 for v in self.variables])
        objective = self.value(self._objective, values)
        return Outcome("optimal" if proved else "limit", values, objective, np.nan)
