"""Nearest training rows: by their costs, of all of them or of those an index finds."""

import numpy as np

from skcf._index._kernel import costs
from skcf._index._points import N_MANY, NearestPoints
from skcf.constraints._bind import holds

MAX_CELLS = 4_000_000
# From here on the costs are computed by compiled code.
MANY_CELLS = 200_000
# Of so many times more rows than are wanted, and so many more, the cheapest are taken.
N_TIMES = 4
N_MORE = 100
MORE = 8


class TrainingRows:
    """The distinct training rows with what the model says of them.

    Parameters
    ----------
    model : BlackBox
    codes : ndarray of shape (n_rows, n_features)
    position : ndarray of shape (n_rows,)
        Where each of them first stands among the training rows.
    prediction : ndarray of shape (n_rows,)
        Class positions, or numbers of a regressor.
    scores, probability : what the model's `output` says
    """

    def __init__(self, model, codes, position, prediction, scores, probability):
        self.model, self.codes, self.position = model, codes, position
        self.prediction, self.scores = prediction, scores
        self.probability = probability
        self._embed, self._points = None, None

    def __len__(self):
        return len(self.codes)

    @classmethod
    def learn(cls, model, space, X):
        """Ask the model about the training rows, once."""
        codes = space.encode(X, check_missing=False)
        position = np.sort(np.unique(codes, axis=0, return_index=True)[1])
        predictions, scores, probabilities = [], [], []
        for begin in range(0, len(position), model.batch):
            lot = space.container.take(X, position[begin : begin + model.batch])
            predictions.append(model.predict(lot))
            score, probability = model.output(lot)
            scores.append(score)
            probabilities.append(probability)
        prediction = np.concatenate(predictions)
        if not model.regression:
            prediction = model.positions(prediction)
        known = probabilities[0] is not None
        return cls(
            model,
            codes[position],
            position,
            prediction,
            np.concatenate(scores),
            np.concatenate(probabilities) if known else None,
        )

    def take(self, at):
        """Return some of the rows, by mask or position."""
        known = self.probability is not None
        return TrainingRows(
            self.model,
            self.codes[at],
            self.position[at],
            self.prediction[at],
            self.scores[at],
            self.probability[at] if known else None,
        )

    def index(self, embed, method):
        """Have an index find the rows to compare, if there are many.

        `embed` writes rows of codes as points whose distances rank about as costs do.
        """
        if method == "exact" or (method == "auto" and len(self) < N_MANY):
            return
        label = np.zeros(len(self), dtype=np.intp)
        if not self.model.regression:
            label = self.prediction.astype(np.intp)
        points = NearestPoints(embed(self.codes), label, method)
        if "hnsw" in points.methods:
            self._embed, self._points = embed, points

    @property
    def indexed(self):
        """Whether an index finds the rows to compare."""
        return self._points is not None

    def nearest(self, x, goal, cost, k, rules=None, lifted=None):
        """Return (query, training row) of the `k` nearest rows in the target.

        Sorted by query and then by cost. With `rules`, only rows that satisfy all of
        them but the one that is `lifted` for a query. A row is left out where it
        equals the query or lacks a value that the query has.
        """
        if self.indexed and k < len(self):
            return self._found(x, goal, cost, k, rules, lifted)
        found = [np.empty((2, 0), dtype=np.intp)]
        step = max(1, MAX_CELLS // max(1, self.codes.size))
        for begin in range(0, len(x), step):
            at = np.arange(begin, min(begin + step, len(x)))
            off = None if lifted is None else lifted[at]
            near = self._distances(x[at], goal.take(at), cost)
            who, row = self._cheapest(x[at], near, cost, k, rules, off)
            found.append(np.stack([at[who], row]))
        return tuple(np.concatenate(found, axis=1))

    def _cheapest(self, x, near, cost, k, rules, lifted):
        """Return (query, row) of the `k` cheapest rows that keep the rules.

        Rules are looked at for the cheapest rows first, and for more only where too few
        of these keep them. Ties go to the first training row.
        """
        n = near.shape[1]
        todo, size = np.arange(len(x)), k if rules is None else N_TIMES * k + N_MORE
        found = [np.empty((2, 0), dtype=np.intp)]
        while len(todo):
            some, ends = near[todo], np.full(len(todo), np.inf)
            if size < n:
                ends = np.partition(some, size - 1, axis=1)[:, size - 1]
            who, row = np.nonzero((some <= ends[:, None]) & np.isfinite(some))
            order = np.lexsort((row, some[who, row], who))
            who, row = who[order], row[order]
            if rules is not None:
                at = todo[who]
                off = None if lifted is None else lifted[at]
                bad = self._unlawful(x[at], self.codes[row], cost, rules, off)
                who, row = who[~bad], row[~bad]
            done = np.bincount(who, minlength=len(todo)) >= k
            done |= np.isinf(ends)
            first = np.arange(len(who)) - np.searchsorted(who, who) < k
            first &= done[who]
            found.append(np.stack([todo[who[first]], row[first]]))
            todo, size = todo[~done], size * MORE
        found = np.concatenate(found, axis=1)
        return found[:, np.argsort(found[0], kind="stable")]

    def _found(self, x, goal, cost, k, rules, lifted):
        """Return what `nearest` does, of the rows that the index finds."""
        labels = None
        if not self.model.regression:
            label = np.arange(len(self._points.members))
            same = goal.label[:, None] == label
            labels = np.where(goal.opposite[:, None], ~same, same)
        inside, kind = self.reached(goal)

        def keep(who, at):
            ok = inside[kind[who], at]
            ok &= ~self._no_change(x[who], self.codes[at], cost)
            if rules is not None:
                off = None if lifted is None else lifted[who]
                ok &= ~self._unlawful(x[who], self.codes[at], cost, rules, off)
            return ok

        wanted = min(N_TIMES * k + N_MORE, len(self))
        who, at, _ = self._points.nearest(self._embed(x), wanted, labels, keep)
        near = np.round(cost.rows(x[who], self.codes[at]), 9)
        order = np.lexsort((at, near, who))
        who, at = who[order], at[order]
        first = np.arange(len(who)) - np.searchsorted(who, who) < k
        return who[first], at[first]

    def _distances(self, x, goal, cost):
        """Return the cost from each query to each row; inf where it is no answer."""
        if len(x) * self.codes.size < MANY_CELLS:
            before, after = x[:, None, :], self.codes[None, :, :]
            near = cost.rows(before, after)
            near[self._no_change(before, after, cost)] = np.inf
        else:
            near = costs(cost, x, self.codes)
        inside, kind = self.reached(goal)
        near = np.round(near, 9)
        near[~inside[kind]] = np.inf
        return near

    def _no_change(self, before, after, cost):
        """Return which rows equal queries, or lack a value; columns come last."""
        lacks = (np.isnan(after) & ~np.isnan(before)).any(axis=-1)
        return lacks | (cost.n_changed(before, after) == 0)

    def _unlawful(self, x, codes, cost, rules, lifted):
        """Return which rows break a rule, other than the lifted one, for queries."""
        tables = {"x": x, "cf": codes}
        off = np.full(len(x), -1) if lifted is None else lifted
        bad = cost.n_changed(x, codes) > rules.limit(len(x), lifted)
        for part in rules.parts:
            broken = ~holds(part.node, lambda table, j: tables[table][:, j])
            bad |= broken & (off != part.rule)
        return bad

    def reached(self, goal):
        """Return which rows reach each distinct goal, and which of these each is."""
        _, first, kind = np.unique(
            goal.keys(), axis=0, return_index=True, return_inverse=True
        )
        inside = np.empty((len(first), len(self)), dtype=bool)
        for i, at in enumerate(first):
            same = goal.take(np.full(len(self), at))
            margin = self.model.margin(self.scores, self.probability, same)
            reached = same.reached(self.prediction, self.probability)
            inside[i] = reached & self.model.passes(margin)
        return inside, kind.ravel()
