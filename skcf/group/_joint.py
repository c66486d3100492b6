"""One program for the rows of a group that share features, or keep their distances."""

import time
from dataclasses import dataclass, replace

import numpy as np

from skcf._mip._adapter import Mip
from skcf.group._joint_blocks import block_of
from skcf.group._links import Ball, MeanScore

MAX_ROUNDS = 60
GAP = 1e-6


@dataclass(frozen=True, eq=False)
class Joint:
    """The answer of a joint program.

    Attributes
    ----------
    codes : ndarray of shape (n_rows, n_features) or None
    served : ndarray of bool of shape (n_rows,)
    total, bound : float
    """

    codes: np.ndarray | None
    served: np.ndarray
    total: float
    bound: float


class JointProgram:
    """The programs of all rows of a group in one, with what ties them together.

    Parameters
    ----------
    solver : IntervalSolver or LayeredSolver
    x, encoded : ndarray of shape (n_rows, n_features) and (n_rows, n_encoded)
    goals : list of Goal
        Of one row each.
    weight : ndarray of shape (n_rows,)
    price : float
        Of each feature that changes in some row.
    most : int, default=None
        The most features that change in some row.
    n_served : int, default=None
        How many rows have to reach their target; None for all.
    tops : ndarray of shape (n_rows,), default=None
        What each row costs at most, where all have to reach their target.
    linked : tuple of column positions, default=()
        Numbers of which more than their cost matters.
    scored : bool, default=False
        Whether the probabilities of the targets matter.
    deadline : float, default=None
        By ``time.monotonic``; it may also end the making of the program.

    Attributes
    ----------
    impossible : bool
        Whether some row has no point at all.
    made : bool
        Whether it can be solved. If it is not impossible, the time was up before.
    """

    def __init__(
        self,
        solver,
        x,
        encoded,
        goals,
        weight,
        price=0.0,
        most=None,
        n_served=None,
        tops=None,
        linked=(),
        scored=False,
        deadline=None,
    ):
        self.solver, self.x, self.weight = solver, x, weight
        self.deadline = deadline
        self.mip, self.ties, self.blocks = Mip(), [], []
        optional = n_served is not None and n_served < len(x)
        tops = np.full(len(x), np.inf) if tops is None else tops
        made, self.touched, self.impossible = block_of(solver), [], False
        for *part, top in zip(x, encoded, goals, tops, strict=True):
            if _expired(deadline):
                break
            block = made(solver, self.mip, *part, optional, top, linked, scored)
            self.impossible = block.impossible
            if self.impossible:
                break
            self.blocks.append(block)
        self.made = len(self.blocks) == len(x)
        if not self.made:
            return
        if optional:
            out = self.mip.total([(b.out, 1.0) for b in self.blocks])
            self.mip.require(out <= float(len(x) - n_served))
        if price or most is not None:
            self._touch(most)
        self.price = price
        spent = [
            (b.program.spending, w) for b, w in zip(self.blocks, weight, strict=True)
        ]
        shared = [(t, price) for t in self.touched]
        self.mip.minimize(self.mip.total([*spent, *shared]))

    def _touch(self, most):
        """Mark the features that change in some row."""
        for g in range(len(self.blocks[0].program.groups)):
            one = self.mip.variable("touched", 0, 1, integer=True)
            self.touched.append(one)
            for block in self.blocks:
                changed = block.program.groups[g].changed
                self.mip.require(self.mip.total([(changed, 1.0), (one, -1.0)]) <= 0)
        if most is not None:
            total = self.mip.total([(t, 1.0) for t in self.touched])
            self.mip.require(total <= float(most))

    def keep_near(self, i, k, most):
        """Let two rows be at most `most` apart; return what keeps them so.

        The distance is Euclidean, of numbers by their units.
        """
        one, two = self.blocks[i], self.blocks[k]
        terms, reach = [], 0.0
        for a, b in zip(one.program.groups, two.program.groups, strict=True):
            j = a.columns[0]
            if one.program.space.numeric[j]:
                unit = one.program.cost.unit[j]
                pairs = [(a.number, 1.0 / unit), (b.number, -1.0 / unit)]
                terms.append(self.mip.total(pairs))
                ends = np.concatenate([a.pieces.low, b.pieces.low])
                ends = np.concatenate([ends, a.pieces.high, b.pieces.high])
                reach += float(np.nanmax(ends) - np.nanmin(ends)) / unit
            else:
                terms.append(self._differs(a, b))
                reach += 1.0
        out = [o for o in (one.out, two.out) if o is not None]
        self.ties.append(Ball(self.mip, terms, most, out, reach))
        return self.ties[-1]

    def keep_mean(self, g, low, high):
        """Keep the mean of a number over the rows that are served in a range."""
        mip, j = self.mip, self.blocks[0].program.groups[g].columns[0]
        for end, sign in ((low, 1.0), (high, -1.0)):
            if not np.isfinite(end):
                continue
            pairs = []
            for block, x in zip(self.blocks, self.x, strict=True):
                group = block.program.groups[g]
                pairs.append((mip.total([(group.number, sign)], -sign * end), 1.0))
                if block.out is not None:
                    # A row that is left out stays as it is, and does not count.
                    stay = [(group.changed, 1.0), (block.out, 1.0)]
                    mip.require(mip.total(stay) <= 1.0)
                    pairs.append((block.out, -sign * float(x[j] - end)))
            mip.require(mip.total(pairs) >= 0)

    def keep_probable(self, least):
        """Keep the mean probability of the targets of the rows that are served."""
        scores = [block.score for block in self.blocks]
        out, clear = [b.out for b in self.blocks], self.blocks[0].clear
        self.ties.append(MeanScore(self.mip, scores, out, least, clear))

    def _differs(self, a, b):
        """Return a variable that is 1 where two rows take different values."""
        apart = self.mip.variable("apart", 0, 1)
        for p, codes in enumerate(a.pieces.low):
            same = (b.pieces.low == codes).all(axis=1)
            pairs = [(a.where(np.arange(len(a.pieces)) == p), 1.0), (apart, -1.0)]
            if same.any():
                pairs.append((b.where(same), -1.0))
            self.mip.require(self.mip.total(pairs) <= 0)
        return apart

    def solve(self, confirm, top=np.inf):
        """Return the Joint answer.

        Parameters
        ----------
        confirm : callable
            Takes positions of rows and their codes, returns which ones the model
            accepts.
        top : float, default=inf
            Only what costs less is wanted.
        """
        nothing = Joint(None, np.zeros(len(self.x), dtype=bool), np.inf, np.inf)
        if not self.made:
            return nothing if self.impossible else replace(nothing, bound=-np.inf)
        bound, best = -np.inf, nothing
        for _ in range(MAX_ROUNDS):
            cutoff = min(top, best.total)
            cutoff = cutoff - 0.5 * GAP * abs(cutoff) if np.isfinite(cutoff) else None
            said = self.mip.solve(
                time_limit=_left(self.deadline), gap=GAP, cutoff=cutoff
            )
            if said.status == "infeasible":
                return best if best.codes is not None else nothing
            if not np.isnan(said.bound):
                # What is above the cutoff was not searched to the end.
                bound = max(
                    bound, said.bound if cutoff is None else min(said.bound, cutoff)
                )
            if said.values is None:
                break
            answer, moved = self._looked_at(said.values, confirm)
            if answer is None and moved:
                answer = self._polished(said.values, confirm)
            if answer is not None and answer.total < best.total:
                best = answer
            close = np.isfinite(best.total)
            close = close and best.total - bound <= 1e-6 * (1.0 + abs(best.total))
            if said.status != "optimal" or close or not moved:
                break
        return Joint(best.codes, best.served, best.total, min(bound, best.total))

    def _looked_at(self, values, confirm):
        """Return (answer or None, whether rows were added that values break)."""
        moved = [c.refine(values) for b in self.blocks for c in b.curves]
        moved += [tie.cut(values) for tie in (*self.blocks, *self.ties)]
        answer, refused = self._read(values, confirm)
        lawful = not refused and all(tie.holds(values) for tie in self.ties)
        return answer if lawful else None, bool(any(moved) or refused)

    def _polished(self, values, confirm):
        """Return the best answer with the integers of some values, None if none is."""
        fixed, best = values, None
        for _ in range(MAX_ROUNDS):
            said = self.mip.solve(time_limit=_left(self.deadline), fixed=fixed)
            if said.values is None:
                break
            answer, moved = self._looked_at(said.values, confirm)
            if answer is not None and (best is None or answer.total < best.total):
                best = answer
            if not moved:
                break
        return best

    def _read(self, values, confirm):
        """Return the answer at some values, and whether a row of it was refused."""
        codes = np.array([b.program.codes(values) for b in self.blocks])
        served = np.array([not b.is_out(values) for b in self.blocks])
        at = np.flatnonzero(served)
        ok = confirm(at, codes[at])
        refused = False
        for i in at[~ok]:
            refused |= self.blocks[i].refuse(values)
        paid = np.array(
            [b.program.cost_of(c) for b, c in zip(self.blocks, codes, strict=True)]
        )
        total = float((self.weight * paid)[served].sum())
        total += self.price * self._n_touched(codes[served], self.x[served])
        return Joint(codes, served, total, -np.inf), bool((~ok).any()) or refused

    def _n_touched(self, codes, x):
        same = (codes == x) | (np.isnan(codes) & np.isnan(x))
        groups = self.blocks[0].program.space.groups
        return sum(bool((~same[:, list(g)]).any()) for g in groups)


def _expired(deadline):
    """Tell whether the time is up."""
    return deadline is not None and time.monotonic() >= deadline


def _left(deadline):
    """Return the seconds until a deadline."""
    return None if deadline is None else deadline - time.monotonic()
