"""The cheapest counterfactual of a linear model."""

from dataclasses import replace

import numpy as np

from skcf._mip._layered import LayeredSolver
from skcf._mip._variables import MAX_STEPS
from skcf._mip._water import fill


class LinearSolver(LayeredSolver):
    """Least cost for a model whose scores are linear in the encoded row.

    Every target is a set of linear rows, or one of several such sets: a class leads
    all others, any class leads the present one, a prediction lies in an interval. What
    a value adds to a row is looked up. A single row over numbers that cost the sum of
    their changes, squared or not, is solved in closed form; everything else is a
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
        If the model is not linear.
    UnsupportedConstraintError
        For a rule that is no set of linear rows.
    """

    def _read(self, layers):
        if len(layers.weights) == 1:
            return layers
        if layers.activation != "identity":
            raise ValueError(f"a network with {layers.activation} is not linear")
        weight, bias = layers.weights[0], layers.biases[0]
        for w, b in zip(layers.weights[1:], layers.biases[1:], strict=True):
            weight, bias = weight @ w, bias @ w + b
        return replace(layers, weights=(weight,), biases=(bias,))

    def _add_model(self, parts, case):
        """Add the rows of the target; return what adds more where they curve."""
        mip, groups, rows = parts.program.mip, parts.program.groups, parts.rows

        def sums(factors):
            return self.inputs.sums(mip, groups, parts.tables, parts.constant, factors)

        for factors, least, clear in zip(
            rows.factors, rows.least, parts.clear, strict=True
        ):
            mip.require(sums(factors) - clear >= float(least))
        if rows.nu is None:
            return None
        outputs = [sums(row) for row in np.eye(len(parts.constant))]

        def bend(values):
            said = np.array([mip.value(out, values) for out in outputs])
            if rows.gap(said) >= -1e-10:
                return False
            factors, least = rows.tangent(said)
            mip.require(sums(factors) >= least)
            return True

        return bend

    # -- closed form ------------------------------------------------------------------

    def _closed_form(self, case, rows):
        """Fill one row with the amounts that reach it most cheaply."""
        c = self.cost.cost
        limit = self.rules.limit(1, np.array([case.lifted]))[0]
        plain = c.l0 == 0 and c.linf == 0 and limit >= len(case.pieces)
        if not plain or len(rows.least) != 1 or rows.nu is not None:
            return None
        if any(p.rule != case.lifted for p in (*self.rules.joint, *self.rules.facts)):
            return None
        constant, own = self.inputs.own(case.encoded)
        need = float(rows.least[0]) - float(constant @ rows.factors[0])
        steep = np.zeros(self.space.n_features)
        for g, pieces in enumerate(case.pieces):
            slope = self._slope(g, pieces, own[g], rows.factors[0])
            if slope is None:
                return None
            steep[pieces.columns[0]] = slope
            need -= float(own[g] @ rows.factors[0])
        # What is in the target as it is needs a change all the same.
        return None if need <= 0 else self._filled(case, steep, need)

    def _slope(self, g, pieces, own, factors):
        """Return what a unit of a number adds to a row, None where it is no number.

        A group that cannot change, or that the row does not read, adds nothing.
        """
        if pieces.home < 0 or self.inputs.bends(g, pieces, own):
            return None
        causal = pieces.columns[0] in getattr(self.cost, "causal", ())
        low, slope = self.inputs.table(g, pieces, own)
        if not causal:
            if len(pieces) == 1:
                return 0.0
            if not np.ptp(low @ factors) and (slope is None or not (slope @ factors)):
                return 0.0
        if not pieces.plain or slope is None:
            return None
        span = float(pieces.high.max() - pieces.low.min())
        if pieces.step is not None and span / pieces.step <= MAX_STEPS:
            return None
        return float(slope @ factors)

    def _filled(self, case, steep, need):
        """Return the answer for the slopes of all columns."""
        cost, c, space = self.cost, self.cost.cost, self.space
        causal = list(getattr(cost, "causal", ()))
        if causal:
            # A unit that is done to a column also moves the columns that follow.
            steep[causal] = cost.onward @ steep[causal]
        j = np.flatnonzero(steep)
        sign, gain = np.sign(steep[j]), np.abs(steep[j])
        low, high = _ends(case.pieces, space)
        cap = np.where(sign > 0, high[j] - case.x[j], case.x[j] - low[j])
        follows = np.isin(j, causal)
        # Their ends are ends of the sums of what is done, which are looked at below.
        cap[follows] = need / gain[follows]
        price = np.where(sign > 0, cost.up[j], cost.down[j]) / cost.unit[j]
        share = cost.weight[space.group_of[j]] / cost.divisor
        line, square = c.l1 * share * price, c.l2 * share * price**2
        done = fill(gain, line, square, np.maximum(cap, 0.0), need)
        if done is None:
            return None if causal else (None, np.inf, True)
        step = np.zeros(len(case.x))
        step[j] = sign * done
        if causal:
            step[causal] = step[causal] @ cost.onward
        codes = case.x.copy()
        for i in np.flatnonzero(step):
            codes[i] = space.columns[i].snap(np.array(codes[i] + step[i]))
            inside = np.clip(codes[i], low[i], high[i])
            if i in causal and abs(inside - codes[i]) > 1e-9 * (1 + abs(codes[i])):
                return None
            codes[i] = inside
        return codes, float(line @ done + square @ done**2), False


def _ends(pieces, space):
    """Return the least and the greatest code of every column, as arrays."""
    low, high = np.full((2, space.n_features), np.nan)
    for group in pieces:
        columns = list(group.columns)
        low[columns], high[columns] = group.low.min(axis=0), group.high.max(axis=0)
    return low, high
