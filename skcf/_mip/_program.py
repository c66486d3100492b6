"""The least cost of a query under rules, whatever the model: a program to add it to."""

import time
from dataclasses import replace

import numpy as np

from skcf._mip._adapter import Mip
from skcf._mip._causal import add_interventions
from skcf._mip._rule_rows import RuleRows
from skcf._mip._variables import GroupVariables

# How near a cost has to come to its bound: relative, and on top of it absolute.
RELATIVE, ABSOLUTE = 5e-7, 1e-9
MAX_ROUNDS = 200


def meets(cost, bound, relative=RELATIVE):
    """Tell whether a bound proves that nothing is cheaper, up to the tolerance."""
    return bool(cost - bound <= relative * abs(cost) + ABSOLUTE)


class Program:
    """Variables of all groups of a query, their cost and the rules between them.

    Parameters
    ----------
    rules : RuleSet
    cost : BoundCost
    x : ndarray of shape (n_features,)
        Codes of the query.
    pieces : list of Pieces
        Of all groups.
    lifted : int, default=-1
        The position of a rule that does not count.
    home : bool or sequence of bool, default=False
        Whether a group has to tell if it is changed, whatever cost and rules need.
    turn : int, default=0
        How often an answer was turned down: rows of rules get tighter.
    ordered : bool or sequence of bool, default=False
        Whether the variables of a group follow the order of its pieces.
    mip : Mip, default=None
        One that several queries share.

    Attributes
    ----------
    mip : Mip
    groups : list of GroupVariables
    impossible : bool
        Whether a group has no value at all.
    """

    def __init__(
        self,
        rules,
        cost,
        x,
        pieces,
        *,
        lifted=-1,
        home=False,
        turn=0,
        ordered=False,
        mip=None,
    ):
        self.rules, self.cost, self.x = rules, cost, x
        self.space = rules.space
        self.mip = Mip() if mip is None else mip
        self.causal = getattr(cost, "causal", ())
        if np.isnan(x[list(self.causal)]).any():
            raise ValueError("A missing value has no effects: it moves by no number.")
        most = int(rules.limit(1, np.array([lifted]))[0])
        limited = most < len(pieces)
        home = np.broadcast_to(home, len(pieces)) | limited | (cost.cost.l0 > 0)
        ordered = np.broadcast_to(ordered, len(pieces))
        self.impossible = any(len(p) == 0 for p in pieces)
        self.groups, self.curves = [], []
        if self.impossible:
            return
        self.groups = [
            GroupVariables(
                self.mip,
                p,
                cost,
                x,
                self.space,
                g,
                bool(home[g]),
                bool(ordered[g]),
                charged=self.space.groups[g][0] not in self.causal,
            )
            for g, p in enumerate(pieces)
        ]
        self.curves = [c for group in self.groups for c in group.curves]
        self.exact = all(group.exact for group in self.groups)
        self._add_rules(lifted, most if limited else None, turn)
        self._add_cost()

    def _add_rules(self, lifted, most, turn):
        rows = RuleRows(self.mip, self.groups, self.rules, self.x, turn)
        for part in (*self.rules.facts, *self.rules.joint):
            if part.rule != lifted:
                rows.require(part)
        if most is not None:
            rows.limit(most)

    def _add_cost(self):
        mip, linf = self.mip, self.cost.cost.linf
        terms = [(group.spending, 1.0) for group in self.groups]
        peaks = [group.peak for group in self.groups]
        if self.causal:
            spending, more, curves = add_interventions(self)
            terms += spending
            peaks += more
            self.curves += curves
        if linf:
            worst = mip.variable("worst", 0.0)
            for peak in peaks:
                mip.require(worst - peak >= 0)
            terms.append((worst, linf))
        self.spending = mip.total(terms)
        mip.minimize(self.spending)

    def narrow(self, top, n):
        """Draw `n` lines under each square where the whole costs less than `top`."""
        l1, l2 = self.cost.cost.l1, self.cost.cost.l2
        for group in self.groups:
            share = self.cost.weight[group.g] / self.cost.divisor
            for curve in group.curves:
                if share > 0:
                    # The larger root of share * (l1 a + l2 a^2) = top.
                    half = l1 / (2 * l2)
                    most = np.sqrt(half**2 + top / (share * l2)) - half
                    if most > curve.low:
                        curve.narrow(most * (1 + 1e-9), n)

    def exclude(self, changed):
        """Let not all of the changed groups of an answer change again."""
        pairs = [(self.groups[g].changed, 1.0) for g in np.flatnonzero(changed)]
        self.mip.require(self.mip.total(pairs) <= len(pairs) - 1.0)

    def codes(self, values):
        """Return the row of codes at the values of an Outcome."""
        out = self.x.copy()
        for group in self.groups:
            column = self.space.columns[group.columns[0]]
            out[list(group.columns)] = group.codes(values, column)
        return out

    def cost_of(self, codes):
        """Return the cost of a row of codes."""
        return float(self.cost.rows(self.x[None, :], codes[None, :])[0])

    def solve(self, *, deadline=None, cutoff=None, tell=None, bend=None):
        """Return (outcome, codes, bound) of the least cost.

        Lines under squares, and what else `bend` asks for, are added until cost and
        bound meet. Most of them are found with the integers fixed.

        Parameters
        ----------
        deadline : float, default=None
        cutoff : float, default=None
            Only what costs less is wanted.
        tell : callable, default=None
        bend : callable, default=None
            Takes the values of an Outcome, adds rows that they break, and returns
            whether there were any.
        """
        bound, best = -np.inf, None
        for _ in range(MAX_ROUNDS):
            top = cutoff
            if best is not None:
                top = best[2] - 0.5 * (RELATIVE * best[2] + ABSOLUTE)
                top = top if cutoff is None else min(top, cutoff)
            said = self.mip.solve(time_limit=_left(deadline), cutoff=top, tell=tell)
            bound = bound if np.isnan(said.bound) else max(bound, said.bound)
            if said.values is None:
                break
            best, moved = self._improved(said, best, bend)
            if moved and said.status == "optimal":
                best = self._polished(said, best, bend, deadline)
            if said.status != "optimal" or not moved:
                break
            if best is not None and meets(best[2], bound):
                break
        if best is not None and (cutoff is None or best[2] < cutoff):
            return best[0], best[1], min(bound, best[2])
        if cutoff is not None and bound >= cutoff:
            said = replace(said, status="cutoff")
        elif best is not None:
            said = replace(said, status="limit")
        return said, None, bound

    def _improved(self, said, best, bend):
        """Return the better of an outcome and the best, and whether rows were added."""
        broken = bend is not None and bend(said.values)
        moved = [curve.refine(said.values) for curve in self.curves]
        if not broken:
            codes = self.codes(said.values)
            cost = self.cost_of(codes)
            if best is None or cost < best[2]:
                best = said, codes, cost
        return best, broken or any(moved)

    def _polished(self, said, best, bend, deadline):
        """Return the best point with the integers of an outcome."""
        fixed = said.values
        for _ in range(MAX_ROUNDS):
            said = self.mip.solve(time_limit=_left(deadline), fixed=fixed)
            if said.values is None:
                break
            best, moved = self._improved(said, best, bend)
            if not moved or (best is not None and meets(best[2], said.objective)):
                break
        return best


def _left(deadline):
    """Return the seconds until a deadline."""
    return None if deadline is None else deadline - time.monotonic()
