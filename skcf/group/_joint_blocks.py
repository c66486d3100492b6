"""The program of one row of a group in that of all of them, by family of model."""

import numpy as np

from skcf._mip._goal_rows import goal_rows, margins_of
from skcf._mip._interval import IntervalSolver
from skcf._mip._layered import Case, Parts
from skcf._mip._program import Program
from skcf._mip._score_rows import SINGLE
from skcf._mip._tree_program import CellPieces, add_trees
from skcf.group._near_cells import cells_below


def block_of(solver):
    """Return the class of the blocks of a solver."""
    return TreeBlock if isinstance(solver, IntervalSolver) else LayeredBlock


class Block:
    """The program of one row in a joint one.

    Parameters
    ----------
    solver : IntervalSolver or LayeredSolver
    mip : Mip
    x, encoded : ndarray of shape (n_features,) and (n_encoded,)
    goal : Goal
        Of this row.
    optional : bool
        Whether the row may be left out.
    top : float
        The row is not to cost more; inf where it may.
    linked : tuple of column positions
        Numbers of which more than their cost matters.
    scored : bool
        Whether the probability of the target matters.

    Attributes
    ----------
    program : Program
    out : variable or None
        Whether the row is left out.
    score : (expression, bool) or None
        Of the target; whether its probability is the logistic function of it.
    impossible : bool
    """

    bend = None

    def __init__(self, solver, mip, x, encoded, goal, optional, top, linked, scored):
        self.solver, self.goal, self.scored = solver, goal, scored
        self.out = self.slack = self.score = None
        self._build(mip, x, encoded, optional, top, linked)
        if not self.impossible and np.isfinite(top):
            mip.require(self.program.spending <= float(top) * (1 + 1e-9) + 1e-9)

    def is_out(self, values):
        """Tell whether the row is left out."""
        if self.out is None:
            return False
        return self.program.mip.value(self.out, values) > 0.5

    def _add_slack(self, room):
        """Let a row that is left out miss its target, by at most `room`."""
        mip = self.program.mip
        self.out, self.slack = mip.binary("out"), []
        for most in room:
            self.slack.append(mip.variable("slack", 0, float(most)))
            pairs = [(self.slack[-1], 1.0), (self.out, -float(most))]
            mip.require(mip.total(pairs) <= 0)

    @property
    def curves(self):
        """The squares of its cost."""
        return self.program.curves


class TreeBlock(Block):
    """The program of a row over trees."""

    @property
    def clear(self):
        """By how much the mean of probabilities has to be passed."""
        return 10 * SINGLE if self.solver.rows.trees.sparse_missing else 1e-8

    def _build(self, mip, x, encoded, optional, top, linked):
        solver = self.solver
        rows, base = solver.rows.alternatives(self.goal)[0], 0.0
        if self.scored:
            weight, base, curved = _probability(solver.rows, self.goal)
            rows = rows.with_row(weight, _lowest(weight, solver.rows.tree) - 1.0)
        cells = solver.maker.make(x, encoded, rows)
        if np.isfinite(top):
            cells = cells_below(cells, solver.ordered, top)
        self.impossible = cells is None
        if self.impossible:
            return
        self.cells = cells
        self.values = CellPieces(cells, solver.rules, -1, linked)
        self.program = Program(
            solver.rules,
            solver.cost,
            x,
            self.values.pieces,
            home=True,
            ordered=solver.ordered,
            mip=mip,
        )
        self.impossible = self.program.impossible
        if self.impossible:
            return
        if optional:
            low = _lowest(cells.leaves.weight, cells.leaves.tree)
            self._add_slack(np.maximum(cells.need - cells.base - low, 0.0))
        if not len(cells.leaves):
            # All trees have one leaf left.
            self.impossible = bool((cells.base < cells.need).any())
            leaves = []
        else:
            leaves = add_trees(self.program, cells, self.values.cell, self.slack)
        if self.scored:
            pairs = zip(leaves, cells.leaves.weight[:, -1], strict=True)
            pairs = [(z, w) for z, w in pairs if z is not None]
            pairs += [] if self.slack is None or not curved else [(self.slack[0], 1.0)]
            self.score = mip.total(pairs, cells.base[-1] + base), curved

    def cut(self, values):
        """Add rows that values break; there are none."""
        return False

    def refuse(self, values):
        """Cut off the pieces of an answer that the model turned down."""
        program = self.program
        choice = self.values.choice(program, values)
        pairs = [
            (group.choice[c], 1.0)
            for group, c in zip(program.groups, choice, strict=True)
        ]
        program.mip.require(program.mip.total(pairs) <= len(pairs) - 1.0)
        return True


class LayeredBlock(Block):
    """The program of a row over a linear model or a network."""

    clear = 1e-8

    def _build(self, mip, x, encoded, optional, top, linked):
        solver = self.solver
        self.margins = margins_of(self.goal)
        self.rows, self.turn = self._rows_at(0), 0
        pieces = solver.inputs.pieces(x)
        # The cheapest answer of the row alone is no bound here, so it gets no time.
        case = Case(x, encoded, self.goal, pieces, -1, True, 0.0, None, None)
        constant, own = solver.inputs.own(encoded)
        self.program = Program(solver.rules, solver.cost, x, pieces, home=True, mip=mip)
        self.impossible = self.program.impossible
        if self.impossible:
            return
        tables = [solver.inputs.table(g, p, own[g]) for g, p in enumerate(pieces)]
        if optional:
            low, high = _outputs(solver.layers, pieces, tables, constant)
            factors = self.rows.factors
            least = np.maximum(factors, 0) @ low + np.minimum(factors, 0) @ high
            self._add_slack(np.maximum(self.rows.least - least, 0.0))
        self.clear_of = [mip.variable("clear", 0, None) for _ in self.rows.least]
        clear = self.clear_of
        if self.slack is not None:
            clear = [
                mip.total([(c, 1.0), (s, -1.0)])
                for c, s in zip(clear, self.slack, strict=True)
            ]
        made = Parts(self.program, tables, constant, self.rows, clear, np.inf)
        self.bend = solver._add_model(made, case)
        if self.scored:
            # What the score is over the least is free to be less than it is.
            least = float(self.rows.least[0])
            self.score = mip.total([(self.clear_of[0], 1.0)], least), True

    def _rows_at(self, turn):
        return goal_rows(self.solver.model, self.goal, self.margins[turn])[0]

    def cut(self, values):
        """Add rows that values break; return whether there were any."""
        return self.bend is not None and self.bend(values)

    def refuse(self, values):
        """Keep further off the boundary than an answer that was turned down."""
        self.turn += 1
        if self.turn >= len(self.margins):
            return False
        more = self._rows_at(self.turn).least
        mip = self.program.mip
        for clear, least in zip(self.clear_of, more - self.rows.least, strict=True):
            mip.require(mip.total([(clear, 1.0)]) >= float(max(least, 0.0)))
        return True


def _outputs(layers, pieces, tables, constant):
    """Return the least and the greatest outputs of a network, by intervals."""
    low, high = constant.copy(), constant.copy()
    for p, (table, slope) in zip(pieces, tables, strict=True):
        ends = table
        if slope is not None:
            width = np.nan_to_num(p.high - p.low)[:, :1]
            ends = np.concatenate([table, table + width * slope])
        low, high = low + ends.min(axis=0), high + ends.max(axis=0)
    for w, b in zip(layers.weights[1:], layers.biases[1:], strict=True):
        low, high = np.maximum(low, 0.0), np.maximum(high, 0.0)
        on, off = np.maximum(w, 0.0), np.minimum(w, 0.0)
        low, high = low @ on + high @ off + b, high @ on + low @ off + b
    return low, high


def _probability(rows, goal):
    """Return (weight of leaves, constant, whether it is curved): of the target.

    It is the sum, or the logistic function of the sum.
    """
    trees, model = rows.trees, rows.model
    label = int(goal.label[0])
    label = 1 - label if goal.opposite[0] else label
    several = len(trees.base) > 1
    averaged = several and trees.link == "identity"
    toward = np.zeros(len(trees.base))
    toward[label if several else 0] = 1.0 if several or label == 1 else -1.0
    if averaged:
        return rows.scores @ toward, float(trees.base @ toward), False
    cut = 0.5 if model.cut is None else model.cut
    if (cut if label == 1 else 1.0 - cut) < 0.5:
        raise _unread(model)
    if several:
        toward[1 - label] = -1.0
    return rows.scores @ toward, float(trees.base @ toward), True


def check_mean_score(solver):
    """Raise where the mean probability of a model is nothing that a program takes."""
    model, kernel = solver.model, solver.model.view.kernel
    if model.regression:
        raise ValueError(
            "mean_threshold is for classifiers; the target of a regressor is an "
            "interval."
        )
    if not hasattr(model.estimator, "predict_proba"):
        raise ValueError(
            "mean_threshold needs an estimator with predict_proba; "
            f"{model.estimator!r} has none."
        )
    readable = kernel.link == "pair"
    if hasattr(kernel, "base"):
        averaged = len(kernel.base) > 1 and kernel.link == "identity"
        readable = averaged or len(model.classes_) == 2
        readable &= kernel.method == "predict_proba"
    if not readable:
        raise _unread(model)


def _unread(model):
    return ValueError(
        f"mean_threshold takes averages of trees, and models of two classes whose "
        "probability is the logistic function of a score and whose class is the more "
        f"probable one, with a class as target; {model.estimator!r} is none of these."
    )


def _lowest(weight, tree):
    """Return the sum over trees of the least of their leaves."""
    if not len(tree):
        return np.zeros(weight.shape[1:])
    first = np.flatnonzero(np.diff(tree, prepend=-1))
    return np.minimum.reduceat(weight, first).sum(axis=0)


def check_goals(model, goals):
    """Raise for a target of several classes: a program has one."""
    several = not model.regression and len(model.classes_) > 2
    if several and any(goal.opposite.any() for goal in goals):
        raise ValueError(
            "Rows that may go to several classes cannot be solved together; name the "
            "class to reach as target."
        )
