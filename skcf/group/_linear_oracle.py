"""Which rows one change can flip, under a model whose scores add up over features."""

import numpy as np

from skcf._mip._adapter import Mip

# Values of a feature among which the cheapest change is looked for.
MAX_OPTIONS = 32


class LinearOracle:
    """Shared changes of rows under scores that are sums over features.

    A shared change sets some features to some values, the same for all its rows; each
    row keeps its own values elsewhere. It has to set every feature on which the rows
    differ, and at most `most` features.

    Parameters
    ----------
    scores : list of ndarray of shape (n_values, n_scores)
        For each feature what each of its values adds to each score.
    own : ndarray of shape (n_rows, n_features, n_scores)
        What the rows' own values add.
    need : ndarray of shape (n_rows, n_scores)
        What the sums have to reach.
    allowed : list of ndarray of bool of shape (n_rows, n_values)
        For each feature which values each row may take. Its own value is one of them,
        unless it has to change.
    must : ndarray of bool of shape (n_rows, n_features)
        Features that have to change.
    most : int
    room : float
        How far beyond what is needed the sums have to be, as a share of their size.

    Attributes
    ----------
    sure : bool
        Whether no answer was cut off by time.
    """

    sure = True
    # It answers at once, for many rows in one go.
    quick = True

    def __init__(self, scores, own, need, allowed, must, most, room):
        self.scores, self.own, self.allowed = scores, own, allowed
        self.must, self.most = must, most
        size = sum(np.abs(s).max(axis=0, initial=0.0) for s in scores)
        self.short = need + room * (np.abs(need) + size) - own.sum(axis=1)
        self.gain = np.stack(
            [
                np.where(ok[:, :, None], score, -np.inf).max(axis=1, initial=-np.inf)
                for ok, score in zip(allowed, scores, strict=True)
            ],
            axis=1,
        )
        self.gain -= own

    def alike(self, rows, pattern):
        """Tell whether a change that flips one row of a cluster flips all of them.

        Then it is enough to ask for one with `alone`.
        """
        if self.short.shape[1] > 1 or self.must[rows].any():
            return False
        if any((ok[rows] != ok[rows[:1]]).any() for ok in self.allowed):
            return False
        for level, own in zip(
            pattern[rows].T, self.own[rows].swapaxes(0, 1), strict=True
        ):
            _, first, back = np.unique(level, return_index=True, return_inverse=True)
            if (own != own[first][back.ravel()]).any():
                return False
        return True

    def helps(self, rows):
        """Return which features some row gains by changing."""
        return (self.gain[rows] > 0).any(axis=(0, 2))

    def alone(self, rows, differ):
        """Return which rows can be flipped alone by changes that include `differ`.

        `differ` is the same for all rows, or has a line for each. With several scores
        this is necessary only: each is raised on its own.
        """
        forced = self.must[rows] | differ
        best = _most_gained(self.gain[rows], forced, self.most)
        ok = forced.sum(axis=1) <= self.most
        return ok & (best >= self.short[rows]).all(axis=1)

    def lawful(self, rows, differ):
        """Tell whether some shared change flips all of some rows."""
        rows = np.asarray(rows, dtype=np.intp)
        if not self.alone(rows, differ).all():
            return False
        forced = differ | self.must[rows].any(axis=0)
        if forced.sum() > self.most:
            return False
        gain = self._shared_gain(rows)
        best = _most_gained(gain, np.broadcast_to(forced, gain.shape[:2]), self.most)
        if not (best >= self.short[rows]).all():
            return False
        # What each row gains from the free features may differ from row to row.
        alike = (gain[:, ~forced] == gain[:1, ~forced]).all()
        if gain.shape[2] == 1 and alike:
            return True
        if self._strongest(rows, forced) is not None:
            return True
        return self._solve(rows, forced, None) is not None

    def cheapest(self, rows, differ, costs, seconds=None):
        """Return the shared change of least total cost, value numbers or -1.

        `costs` has the total cost for these rows of every value of every feature. It is
        the cheapest one that was found in so many seconds.
        """
        rows = np.asarray(rows, dtype=np.intp)
        forced = differ | self.must[rows].any(axis=0)
        change = None
        if seconds is None or seconds > 0:
            change = self._solve(rows, forced, costs, seconds)
        if change is None:
            change = self._strongest(rows, forced)
        return self._solve(rows, forced, None) if change is None else change

    def _strongest(self, rows, forced):
        """Return a change that gains much, None if it is too little for some row.

        With one score it gains most. Of several the one that rows lack most counts
        most, and there may be another change.
        """
        lack = np.maximum(self.short[rows], 0.0).max(axis=0)
        weight = lack / lack.sum() if lack.any() else np.ones(len(lack))
        change = np.full(len(forced), -1, dtype=np.intp)
        least = np.full(len(forced), -np.inf)
        for j, (ok, score) in enumerate(zip(self.allowed, self.scores, strict=True)):
            values = np.flatnonzero(ok[rows].all(axis=0))
            if len(values):
                total = score[values] @ weight
                change[j] = values[total.argmax()]
                least[j] = total.max() - (self.own[rows, j] @ weight).max()
        order = np.lexsort((-least, ~forced))[: self.most]
        taken = order[forced[order] | (least[order] > 0)]
        change[np.setdiff1d(np.arange(len(forced)), taken)] = -1
        put = np.flatnonzero(change >= 0)
        gain = np.zeros_like(self.short[rows])
        for j in put:
            gain += self.scores[j][change[j]] - self.own[rows, j]
        enough = (gain >= self.short[rows]).all()
        return change if enough and (change[forced] >= 0).all() else None

    def _shared_gain(self, rows):
        """Return what rows gain from the best values that all of them may take."""
        best = [
            np.where(ok[rows].all(axis=0)[:, None], score, -np.inf).max(
                axis=0, initial=-np.inf
            )
            for ok, score in zip(self.allowed, self.scores, strict=True)
        ]
        return np.stack(best) - self.own[rows]

    def _solve(self, rows, forced, costs, seconds=None):
        """Solve the choice of features and values as a small integer program."""
        choice = [np.flatnonzero(ok[rows].all(axis=0)) for ok in self.allowed]
        if costs is None and self.scores[0].shape[1] == 1:
            # Without a cost only the best value of a feature matters.
            choice = [
                c[self.scores[j][c, 0].argmax(keepdims=True)] if len(c) else c
                for j, c in enumerate(choice)
            ]
        if costs is not None:
            choice = [
                self._worth(j, values, costs[j]) for j, values in enumerate(choice)
            ]
        mip, take = Mip(), []
        for j, values in enumerate(choice):
            take.append([mip.binary("take") for _ in values])
            one = mip.total((t, 1.0) for t in take[j])
            mip.require(one == 1 if forced[j] else one <= 1)
        mip.require(mip.total((t, 1.0) for ts in take for t in ts) <= self.most)
        for row in self._needs(rows, choice):
            pairs = zip((t for ts in take for t in ts), row[:-1], strict=True)
            mip.require(mip.total(pairs) >= row[-1])
        if costs is not None:
            mip.minimize(
                mip.total(
                    (t, costs[j][a])
                    for j, values in enumerate(choice)
                    for t, a in zip(take[j], values, strict=True)
                )
            )
        outcome = mip.solve(time_limit=seconds)
        if outcome.values is None:
            return None
        out = np.full(len(forced), -1, dtype=np.intp)
        for j, values in enumerate(choice):
            for t, a in zip(take[j], values, strict=True):
                if mip.value(t, outcome.values) > 0.5:
                    out[j] = a
        return out

    def _worth(self, j, values, cost):
        """Return the values of a feature that are worth a look, not too many.

        Another one costs no less than some value that gains no less of every score.
        """
        if len(values):
            score = self.scores[j][values]
            order = np.lexsort((*-score.T[::-1], cost[values]))
            values, score = values[order], score[order]
            top = np.maximum.accumulate(score, axis=0)
            # What exceeds all cheaper values in some score stays in any case.
            kept = (score[1:] > top[:-1]).any(axis=1)
            kept = np.append(True, kept)
            for i in np.flatnonzero(~kept) if score.shape[1] > 1 else ():
                kept[i] = not (score[:i] >= score[i]).all(axis=1).any()
            values = values[kept]
        if len(values) > MAX_OPTIONS:
            at = np.linspace(0, len(values) - 1, MAX_OPTIONS)
            values = values[np.unique(at.round().astype(np.intp))]
        return values

    def _needs(self, rows, choice):
        """Return the distinct rows of what choices gain, and what has to be gained."""
        gain = np.concatenate(
            [
                self.scores[j][None, values] - self.own[rows, j][:, None]
                for j, values in enumerate(choice)
            ],
            axis=1,
        ).transpose(0, 2, 1)
        flat = gain.reshape(-1, gain.shape[2])
        return np.unique(np.column_stack([flat, self.short[rows].ravel()]), axis=0)


def _most_gained(gain, forced, most):
    """Return the largest sums of gains of the forced and at most `most` features."""
    sure = np.where(forced[:, :, None], gain, 0.0).sum(axis=1)
    free = np.where(forced[:, :, None], 0.0, np.maximum(gain, 0.0))
    free = -np.sort(-free, axis=1)
    room = most - forced.sum(axis=1)
    within = np.arange(free.shape[1]) < room[:, None]
    return sure + np.where(within[:, :, None], free, 0.0).sum(axis=1)
