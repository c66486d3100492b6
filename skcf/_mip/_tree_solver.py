"""Exact counterfactuals of tree ensembles."""

import numpy as np

from skcf._mip._boxes import Boxes
from skcf._mip._score_rows import ScoreRows
from skcf._mip._solution import Solution
from skcf._mip._tree_branch import TreeSearch
from skcf._mip._tree_cells import CellMaker
from skcf._mip._tree_warm import warm_up
from skcf.exceptions import UnsupportedConstraintError


class TreeSolver:
    """Solves single queries over a tree ensemble by a search of its own.

    Parameters
    ----------
    model : BlackBox
        With a view of trees.
    space : FeatureSpace
    rules : RuleSet
    cost : BoundCost
    boxes : Boxes, default=None
        Those of another solver of the same model and ranges.
    plausible : Plausible, default=None
        Restricts answers to plausible ones.
    """

    def __init__(self, model, space, rules, cost, boxes=None, plausible=None):
        self.model, self.space, self.rules, self.cost = model, space, rules, cost
        self.plausible = plausible
        if boxes is None:
            trees = None if plausible is None else plausible.trees
            boxes = Boxes(model.view, space, rules.low, rules.high, trees)
        self.boxes = boxes
        self.maker = CellMaker(boxes, rules, cost)
        if self.maker.open:
            rule = rules.rules[self.maker.open[0].rule]
            raise UnsupportedConstraintError(
                f"{rule} compares columns with too many values to be tabulated."
            )
        warm_up()
        self.rows = ScoreRows(model, boxes.slots, boxes.values, boxes.tree)
        self._depth = None if plausible is None else plausible.depth[boxes.leaf]
        groups = space.groups
        self.ordered = np.array([len(m) == 1 and space.numeric[m[0]] for m in groups])

    def with_rules(self, rules):
        """Return the solver for another rule set."""
        same = np.array_equal(rules.low, self.rules.low)
        same &= np.array_equal(rules.high, self.rules.high)
        boxes, made = self.boxes if same else None, type(self)
        return made(self.model, self.space, rules, self.cost, boxes, self.plausible)

    def _alternatives(self, goal):
        """Return what is needed for a goal, in a list of which one will do."""
        out = self.rows.alternatives(goal)
        if self.plausible is None:
            return out
        return [rows.with_row(self._depth, self.plausible.least) for rows in out]

    def encode(self, table):
        """Return the encoded rows of a table, for `solve`."""
        return self.boxes.encode_table(table)

    def solve(
        self,
        x,
        goal,
        *,
        encoded=None,
        lifted=-1,
        deadline=None,
        k=1,
        callback=None,
        accept=None,
        strict=False,
    ):
        """Return the Solution of one query; see `Solver`.

        Parameters
        ----------
        encoded : ndarray, default=None
            The query's row of `encode`.
        strict : bool, default=False
            Whether `accept` is asked about every point.
        """
        if encoded is None:
            encoded = self.boxes.encode_table(self.space.decode(x[None, :]))[0]
        problems = [
            self.maker.make(x, encoded, rows, lifted)
            for rows in self._alternatives(goal)
        ]

        ask = _Asked(accept, strict)
        found, limits, first = [], [], None
        for turn in range(k):
            tell = _Teller(callback if turn == 0 else None, len(problems))
            searches = [
                TreeSearch(
                    cells, self.ordered, limits, ask.about(cells), deadline, tell.of(i)
                )
                for i, cells in enumerate(problems)
            ]
            best, bound, done = _run(searches)
            first = (bound, done) if first is None else first
            if best is None:
                break
            found.append((best.cells.point(best.point), done))
            changed = best.point != best.cells.home
            limits.append((changed, int(changed.sum()) - 1))
            if not done or not changed.any():
                break
        return self._told(x, found, *first)

    def _told(self, x, found, bound, done):
        """Return the solution of what was found, with the bound of the first search."""
        if not found:
            return Solution.empty(len(x), infeasible=done, bound=bound)
        codes, proved = map(np.array, zip(*found, strict=True))
        cost = self.cost.rows(x[None, :], codes)
        status = "optimal" if done else "feasible"
        return Solution(codes, cost, proved, bound, status)


class _Asked:
    """Decides which points are in the target, by the model where floats may differ."""

    def __init__(self, accept, strict):
        self.accept, self.strict = accept, strict

    def about(self, cells):
        """Return the decision over the points of some cells."""

        def decide(codes, score):
            if (score >= cells.sure).all() and not self.strict:
                return True
            return self.accept is None or bool(self.accept(codes[None, :])[0])

        return decide


class _Teller:
    """Tells a callback of searches of which the best counts."""

    def __init__(self, callback, n):
        self.callback = callback
        self.costs, self.bounds = np.full(n, np.inf), np.zeros(n)
        self.told = np.inf, 0.0

    def of(self, which):
        """Return the callback of one of the searches."""
        if self.callback is None:
            return None

        def tell(cost, bound):
            self.costs[which] = cost
            self.bounds[which] = max(self.bounds[which], bound)
            now = float(self.costs.min()), float(self.bounds.min())
            if now != self.told:
                self.told = now
                self.callback(*now)

        return tell


def _run(searches):
    """Run searches of which the best counts; return (best, bound, done)."""
    for search in searches:
        search.climb()
    upper, best = np.inf, None
    done, bound = True, np.inf
    for search in sorted(searches, key=lambda s: s.cost):
        search.run(upper)
        done &= search.done
        bound = min(bound, search.bound if not search.done else search.cost)
        if search.point is not None and search.cost < upper:
            upper, best = search.cost, search
    return best, bound, done
