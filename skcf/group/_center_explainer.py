"""What the explainers share that send many rows to few counterfactuals."""

import numpy as np
from sklearn.utils import Bunch

from skcf._base import Answers, GroupExplainer
from skcf._index import TrainingRows
from skcf._mip._families import check_target
from skcf._mip._queries import verdict
from skcf._model._trees import FlatTrees
from skcf.exceptions import UnsupportedConstraintError
from skcf.group._centers import (
    ROUNDS,
    Centers,
    alternate,
    assign,
    best_observed,
    spread_out,
)
from skcf.group._shared_layers import shared_layers
from skcf.group._shared_trees import SharedTreeSolver

MAX_PAIRS = 1_000_000
# Steps from each start before the starts are compared.
FEW_ROUNDS = 6


class CenterExplainer(GroupExplainer):
    """Base of the explainers that send many rows to few counterfactuals.

    A subclass has `location`, and implements `_n_centers` and `_find`.
    """

    def _fit_search(self, X):
        self._training = TrainingRows.learn(self._model, self._space, X)
        self._locator = None
        if self.location == "any":
            self._check_cost()
            self._locator = self._solver()
            self._check_rules(self._rules)
            check_target(self._model, self.target, self.threshold)

    def _solver(self):
        """Return what locates the best point of all for some rows."""
        kernel = getattr(self._model.view, "kernel", None)
        parts = self._model, self._space, self._rules, self._cost
        if isinstance(kernel, FlatTrees):
            return SharedTreeSolver(*parts, self._training.codes[0])
        solver = shared_layers(*parts)
        if solver is not None:
            return solver
        raise TypeError(
            f"{type(self).__name__} with location='any' takes trees and ensembles of "
            "trees, linear models and networks of rectified linear units, behind a "
            f"preprocessing that works column by column; got {self.estimator!r}. With "
            "location='observed' any estimator will do."
        )

    def _check_cost(self):
        if self._cost.cost.linf:
            raise ValueError(
                f"cost={self.cost!r} has a part that is no sum over features (linf), "
                "which location='any' cannot take."
            )

    def _check_rules(self, rules):
        """Raise for rules that say something else for each row of a shared point."""
        if self.location == "observed":
            return
        for part in rules.joint:
            if part.x_columns:
                raise UnsupportedConstraintError(
                    f"{rules.rules[part.rule]} ties features to one another and to "
                    f"the row's own values; {type(self).__name__} with location='any' "
                    "takes rules on single features, or between features of the "
                    "counterfactual alone."
                )
        if rules.max_changes is not None:
            raise UnsupportedConstraintError(
                f"{rules.rules[rules.max_changes_rule]} counts the changes of each "
                f"row; {type(self).__name__} with location='any' cannot take it."
            )

    def _tightened(self, constraints):
        rules = super()._tightened(constraints)
        if rules is not self._rules:
            self._check_rules(rules)
        return rules

    # -- a call -------------------------------------------------------------------

    def _solve(self, problem, rows, k):
        n = len(problem)
        assignment = np.full(n, -1)
        if not len(rows):
            return Answers(
                rows,
                problem.x[:0],
                problem.cut,
                whole=self._empty(),
                by_row={"assignment": assignment},
            )
        # In an order of their own, so that the order of the call does not matter.
        rows = rows[np.lexsort(problem.x[rows].T)]
        group = self._group(problem, rows)
        found, proved = self._find(group)
        assignment[rows] = found.assignment
        row = np.sort(rows[found.assignment >= 0])
        bound = np.full(n, np.nan)
        if proved:
            bound[rows[found.assignment < 0]] = np.inf
        return Answers(
            row,
            found.codes[assignment[row]],
            problem.cut,
            whole={
                "centers": self._table_of(found.codes),
                "total_cost": found.total,
                "lower_bound": found.bound,
            },
            optimal=np.full(len(row), proved and found.settled),
            lower_bound=bound,
            by_row={"assignment": assignment},
        )

    def _empty(self):
        return {
            "centers": self._table_of(self._training.codes[:0]),
            "total_cost": 0.0,
            "lower_bound": 0.0,
        }

    def _table_of(self, codes):
        """Return rows of codes as a table like that of fit."""
        return self._space.decode(codes)

    def _group(self, problem, rows):
        """Return all that is to be known of the rows of a call."""
        options = problem.options
        weight = options.get("weights")
        apart = options.get("apart")
        goal = problem.goal.take(rows)
        kinds = np.unique(goal.keys(), axis=0, return_inverse=True)[1].ravel()
        return Bunch(
            problem=problem,
            x=problem.x[rows],
            goal=goal,
            kind=kinds,
            weight=np.ones(len(rows)) if weight is None else weight[rows],
            apart=None if apart is None else apart[rows],
            rules=problem.ground.rules,
            seed=problem.seed[rows],
            meter=problem.meter,
        )

    # -- prices -------------------------------------------------------------------

    def _prices(self, group, codes):
        """Return what each row pays for each of some points, inf if not lawful."""
        out = np.full((len(group.x), len(codes)), np.inf)
        if not len(codes):
            return out
        inside = self._inside(group, codes)
        for c, point in enumerate(codes):
            cf = np.broadcast_to(point, group.x.shape)
            ok = inside[:, c] & group.rules.holds(group.x, cf)
            ok &= self._cost.n_changed(group.x, cf) > 0
            out[ok, c] = self._cost.rows(group.x[ok], cf[ok])
        return out

    def _inside(self, group, codes):
        """Return which points are in the target of each row, by the model."""
        reached = verdict(self._model, self._space.decode(codes), group.meter)
        out = np.zeros((len(group.x), len(codes)), dtype=bool)
        for kind in np.unique(group.kind):
            at = np.flatnonzero(group.kind == kind)
            out[at] = reached(group.goal.take(np.full(len(codes), at[0])))
        return out

    def _observed(self, group):
        """Return (codes, prices) of training rows that some row could become."""
        training, rules = self._training, group.rules
        price = training._distances(group.x, group.goal, self._cost)
        if rules.parts or rules.max_changes is not None:
            who, row = np.nonzero(np.isfinite(price))
            size = max(1, MAX_PAIRS // group.x.shape[1])
            for begin in range(0, len(who), size):
                i, j = who[begin : begin + size], row[begin : begin + size]
                x, codes = group.x[i], training.codes[j]
                bad = training._unlawful(x, codes, self._cost, rules, None)
                price[i[bad], j[bad]] = np.inf
        some = np.flatnonzero(np.isfinite(price).any(axis=0))
        return training.codes[some], price[:, some]

    def _located(self, group, rows):
        """Return (codes or None, bound) of the best point for some rows."""
        kinds = np.unique(group.kind[rows])
        if len(kinds) > 1:
            return None, np.nan
        goal = group.goal.take(rows[:1])

        def accept(codes):
            one = Bunch(**group)
            one.update(x=group.x[rows[:1]], goal=goal, kind=np.zeros(1, int))
            return self._inside(one, codes)[0]

        solver = self._locator
        if group.rules is not self._rules:
            solver = solver.with_rules(group.rules)
        return solver.locate(
            group.x[rows],
            group.weight[rows],
            goal,
            deadline=group.meter.deadline,
            accept=accept,
        )

    # -- centers ------------------------------------------------------------------

    def _sites(self, group, n, worst=False):
        """Return (Centers, proved) of the best training rows."""
        codes, price = self._observed(group)
        able = np.flatnonzero(np.isfinite(price).any(axis=1))
        if not len(able):
            none = np.full(len(group.x), -1)
            return Centers(codes[:0], none, 0.0, 0.0), True
        small = price.size <= MAX_PAIRS
        some = np.arange(len(codes))
        if not small:
            # The candidates that are cheapest for some row.
            order = np.argsort(price[able], axis=1, kind="stable")
            width = max(1, MAX_PAIRS // price[able].shape[0] // len(able))
            some = np.unique(order[:, :width])
        chosen, bound = best_observed(
            price[able][:, some], group.weight[able], n, worst, group.meter.left
        )
        chosen = some[chosen]
        # Those of the index are rounded.
        exact = self._prices(group, codes[chosen])
        taken, total = assign(exact, group.weight, group.apart)
        if worst:
            total = float(exact[able, taken[able]].max(initial=0.0))
        proved = small and group.apart is None and (taken[able] >= 0).all()
        bound = min(bound, total) if proved else np.nan
        return Centers(codes[chosen], taken, total, bound), proved

    def _moved(self, group, n, n_init):
        """Return the best Centers of Lloyd's steps from several starts."""
        codes, price = self._observed(group)
        best, open_, known = None, False, {}

        def locate(rows):
            # Most steps leave most clusters as they are.
            key = np.asarray(rows).tobytes()
            if key not in known:
                known[key] = self._located(group, rows)[0]
            return known[key]

        def improved(points, rounds):
            return alternate(
                points,
                lambda points: self._prices(group, points),
                locate,
                group.weight,
                group.apart,
                lambda: group.meter.expired,
                rounds,
            )

        for turn in range(n_init):
            seed = np.bitwise_xor.reduce(group.seed) + np.uint64(1000 * turn)
            start = spread_out(price, n, seed)
            if not len(start):
                break
            found, trace = improved(codes[start], FEW_ROUNDS)
            if best is None or found.rank < best.rank:
                best, open_ = found, len(trace) > FEW_ROUNDS
            if group.meter.expired:
                break
        if best is not None and open_:
            # Only the best of the starts goes on to the end.
            best, _ = improved(best.codes, ROUNDS)
        if best is None:
            best = Centers(codes[:0], np.full(len(group.x), -1), 0.0)
        return best
