"""Costs of interventions: a change of one number moves others for free."""

from numbers import Real

import numpy as np

from skcf._mip._variables import Curve


class CausalCost:
    r"""A cost of what is done to a row, where some of it follows by itself.

    If column :math:`i` is moved by :math:`\delta_i`, column :math:`j` follows by
    :math:`h_{ij} \delta_i`. What has to be paid to get from `x` to `cf` is then not
    the difference but

    .. math::

        \delta = (cf - x) (I + H)^{-1}

    Columns without an effect, and categories, are paid as they are.

    Parameters
    ----------
    bound : BoundCost
    space : FeatureSpace
    effects : mapping of (column, column) to float
        By how many units the second column moves, for one unit of the first.

    Attributes
    ----------
    causal : tuple of column positions
        Columns that have an effect or feel one.
    inverse : ndarray of shape (n_causal, n_causal)

    Raises
    ------
    ValueError
        If a column is no number of its own, or the effects cancel one another out.

    References
    ----------
    .. [1] Carrizosa, E., Ramirez-Ayerbe, J., Romero Morales, D. (2024). Mathematical
       optimization modelling for group counterfactual explanations. European
       Journal of Operational Research, 319(2). doi:10.1016/j.ejor.2024.01.002
    """

    def __init__(self, bound, space, effects):
        self.bound, self.space = bound, space
        pairs = {_pair(space, key): _size(key, h) for key, h in effects.items()}
        self.causal = tuple(sorted({j for pair in pairs for j in pair}))
        place = {j: i for i, j in enumerate(self.causal)}
        self.onward = np.eye(len(self.causal))
        for (a, b), h in pairs.items():
            self.onward[place[a], place[b]] += h
        if np.linalg.cond(self.onward) > 1e10:
            raise ValueError(
                "The effects cancel one another out: there are changes that no "
                f"intervention brings about; got {dict(effects)}."
            )
        self.inverse = np.linalg.inv(self.onward)

    def __getattr__(self, name):
        if name.startswith("__") or name == "bound":
            raise AttributeError(name)
        return getattr(self.bound, name)

    def rows(self, before, after):
        """Return the costs of rows of codes, shapes broadcast, (..., n_features)."""
        return self.bound.rows(before, self.done(before, after))

    def done(self, before, after):
        """Return where interventions alone would lead, without what follows."""
        at = list(self.causal)
        before, after = np.broadcast_arrays(before, after)
        out = np.array(after, dtype=np.float64)
        step = (after - before)[..., at] @ self.inverse
        # An effect that is undone leaves a rounding error, which is no intervention.
        size = np.abs((after - before)[..., at]) @ np.abs(self.inverse)
        step[np.abs(step) <= 1e-12 * size] = 0.0
        out[..., at] = before[..., at] + step
        return out


def _pair(space, key):
    if not (isinstance(key, tuple) and len(key) == 2):
        raise ValueError(f"effects maps pairs of columns to numbers, got {key!r}.")
    try:
        return tuple(_number(space, name) for name in key)
    except ValueError as error:
        raise ValueError(f"effects: {error}") from None


def _size(key, h):
    real = isinstance(h, Real) and not isinstance(h, bool)
    if not (real and np.isfinite(h)):
        raise ValueError(f"The effect of {key!r} must be a finite number, got {h!r}.")
    return float(h)


def _number(space, name):
    j = space.position(name)
    alone = len(space.groups[space.group_of[j]]) == 1
    if not (space.numeric[j] and alone):
        raise ValueError(
            f"Effects are between numbers that stand alone; column "
            f"{space.names[j]!r} is {space.columns[j].kind}"
            f"{'' if alone else ' and taken together with others'}."
        )
    return j


def add_interventions(program):
    """Return (spending, peaks, curves) of the interventions of a program."""
    mip, cost, x = program.mip, program.cost, program.x
    c = cost.cost
    groups = [program.groups[program.space.group_of[j]] for j in cost.causal]
    moves = [
        (mip.total([(group.number, 1.0)], -x[j]), _reach(group, x[j]))
        for group, j in zip(groups, cost.causal, strict=True)
    ]
    spending, peaks, curves = [], [], []
    for i, j in enumerate(cost.causal):
        factors = cost.inverse[:, i]
        reach = float(sum(abs(f) * r for f, (_, r) in zip(factors, moves, strict=True)))
        done = mip.total([(m, f) for (m, _), f in zip(moves, factors, strict=True)])
        share = float(cost.weight[groups[i].g] / cost.divisor)
        amounts, one = [], mip.total([], 1.0)
        taken = mip.total([(mip.binary("do"), 1.0)]) if c.l0 else one
        spending.append((taken, share * c.l0))
        for price in (cost.up[j], cost.down[j]):
            part = mip.variable("d", 0.0, reach)
            amounts.append(part)
            if c.l0:
                mip.require(part - reach * taken <= 0)
            price = float(price / cost.unit[j])
            amount = mip.total([(part, price)])
            spending.append((amount, share * c.l1))
            peaks.append(mip.total([(amount, float(cost.weight[groups[i].g]))]))
            if c.l2 and price > 0 and reach > 0:
                curve = Curve(mip, amount, taken, 0.0, reach * price, None, "q")
                spending.append((curve.value, share * c.l2))
                curves.append(curve)
        mip.require(done - amounts[0] + amounts[1] == 0)
    return spending, peaks, curves


def _reach(group, own):
    """Return how far a number can get away from the query's own."""
    ends = np.concatenate([group.pieces.low[:, 0], group.pieces.high[:, 0]])
    return float(np.abs(ends - own).max())
