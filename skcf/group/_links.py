"""What ties the rows of a group in a program beyond what is linear in it."""

import numpy as np
from scipy.special import expit, logit

NEAR = 1e-6
# Where the curve of probabilities has tangents from the beginning, in log-odds.
MARKS = 0.0, 0.5, 1.0, 2.0, 3.5, 6.0


class Ball:
    """A bound on a Euclidean norm, by tangents that are added where needed.

    Parameters
    ----------
    mip : Mip
    terms : list of expressions
    most : float
    out : list of variables, default=()
        Where one of them is 1, the bound does not count.
    reach : float, default=0
        No norm is larger than the bound and this.
    """

    def __init__(self, mip, terms, most, out=(), reach=0.0):
        self.mip, self.terms, self.most = mip, terms, most
        self.out, self.reach = list(out), reach
        for term in terms:
            for sign in (1.0, -1.0):
                self._require([(term, sign)])

    def _require(self, pairs):
        loose = [(o, -self.reach) for o in self.out]
        self.mip.require(self.mip.total([*pairs, *loose]) <= float(self.most))

    def touch(self, at):
        """Add the tangent in a direction, of shape (n_terms,)."""
        size = np.linalg.norm(at)
        if size > 0:
            self._require(list(zip(self.terms, at / size, strict=True)))

    def _size(self, values):
        at = np.array([self.mip.value(term, values) for term in self.terms])
        off = any(self.mip.value(o, values) > 0.5 for o in self.out)
        return at, 0.0 if off else np.linalg.norm(at)

    def cut(self, values):
        """Add the tangent at some values; return whether they broke the bound."""
        at, size = self._size(values)
        if size <= self.most * (1.0 + NEAR) + 1e-9:
            return False
        self.touch(at)
        return True

    def holds(self, values):
        """Tell whether values keep the bound."""
        return bool(self._size(values)[1] <= self.most * (1.0 + 10 * NEAR) + 1e-7)


class MeanScore:
    """The mean probability of the target over rows that are in it.

    A probability that is the logistic function of a score is concave from one half
    on, where every row is, so its tangents bound it from above; they are added where
    needed.

    Parameters
    ----------
    mip : Mip
    scores : list of (expression, bool)
        The score of each row, and whether the probability is its logistic function.
    out : list of variables or None
        Whether each row is left out.
    least : float
    clear : float
        By how much the mean has to pass it.
    """

    def __init__(self, mip, scores, out, least, clear):
        self.mip, self.scores, self.out, self.least = mip, scores, out, least
        self.share = []
        for score, curved in scores:
            self.share.append(mip.variable("p", None, 1.0) if curved else score)
            if curved:
                inner = float(np.clip(logit(least), 0.0, 40.0))
                for at in (*MARKS, inner):
                    self._touch(len(self.share) - 1, at)
        over = []
        for share, gone in zip(self.share, out, strict=True):
            gain = mip.total([(share, 1.0)], -(least + clear))
            if gone is not None:
                one = mip.variable("over", -1.0, 1.0)
                mip.require(mip.total([(one, 1.0), (gain, -1.0), (gone, -2.0)]) <= 0)
                mip.require(mip.total([(one, 1.0), (gone, 1.0)]) <= 1.0)
                gain = one
            over.append((gain, 1.0))
        mip.require(mip.total(over) >= 0)

    def _touch(self, i, at):
        """Add the tangent at a score."""
        value = float(expit(at))
        slope = value * (1.0 - value)
        pairs = [(self.share[i], 1.0), (self.scores[i][0], -slope)]
        self.mip.require(self.mip.total(pairs) <= value - slope * at)

    def cut(self, values):
        """Add tangents at some values; return whether these broke the curve."""
        broken = False
        for i, (score, curved) in enumerate(self.scores):
            if curved:
                at = max(self.mip.value(score, values), 0.0)
                if self.mip.value(self.share[i], values) > expit(at) + 1e-10:
                    self._touch(i, at)
                    broken = True
        return broken

    def holds(self, values):
        """Tell whether values keep the mean."""
        over = 0.0
        for (score, curved), gone in zip(self.scores, self.out, strict=True):
            if gone is None or self.mip.value(gone, values) < 0.5:
                at = self.mip.value(score, values)
                over += (expit(at) if curved else at) - self.least
        return bool(over >= 0)
