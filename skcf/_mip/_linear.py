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
        have, moves = float(constant @ rows.factors[0]), []
        for g, pieces in enumerate(case.pieces):
            if pieces.home < 0 or self.inputs.bends(g, pieces, own[g]):
                return None
            have += float(own[g] @ rows.factors[0])
            move = self._move(case, g, pieces, own[g], rows.factors[0])
            if move is None:
                return None
            moves += move
        return self._filled(case, moves, float(rows.least[0]) - have)

    def _move(self, case, g, pieces, own, factors):
        """Return [(column, gain, price, cap, sign, share)], None for another kind."""
        if len(pieces) == 1:
            return []
        low, slope = self.inputs.table(g, pieces, own)
        if not np.ptp(low @ factors) and (slope is None or not (slope @ factors)):
            return []
        if not pieces.plain or slope is None:
            return None
        span = float(pieces.high.max() - pieces.low.min())
        if pieces.step is not None and span / pieces.step <= MAX_STEPS:
            return None
        j, steep = pieces.columns[0], float(slope @ factors)
        sign = 1.0 if steep > 0 else -1.0
        end = pieces.high.max() if steep > 0 else pieces.low.min()
        cap = float(sign * (end - case.x[j]))
        if cap <= 0:
            return []
        price = (self.cost.up if steep > 0 else self.cost.down)[j] / self.cost.unit[j]
        share = self.cost.weight[g] / self.cost.divisor
        return [(j, abs(steep), float(price), cap, sign, float(share))]

    def _filled(self, case, moves, need):
        if need <= 0:
            # What is in the target as it is needs a change all the same.
            return None
        if not moves:
            return None, np.inf, True
        columns, gain, price, cap, sign, share = map(np.array, zip(*moves, strict=True))
        c = self.cost.cost
        amounts = fill(gain, c.l1 * share * price, c.l2 * share * price**2, cap, need)
        if amounts is None:
            return None, np.inf, True
        codes = case.x.copy()
        for j, amount, s in zip(columns, amounts, sign, strict=True):
            if amount > 0:
                column = self.space.columns[j]
                codes[j] = column.snap(np.array(codes[j] + s * amount))
                codes[j] = np.clip(codes[j], *_ends(case.pieces, self.space, j))
        spent = c.l1 * share * price * amounts + c.l2 * share * (price * amounts) ** 2
        return codes, float(spent.sum()), False


def _ends(pieces, space, j):
    own = pieces[space.group_of[j]]
    return own.low.min(), own.high.max()
