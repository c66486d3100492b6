"""Nearest training rows: by their costs, of all of them or of those an index finds."""

import numpy as np

from skcf._index._points import N_MANY, NearestPoints
from skcf.constraints._bind import holds

MAX_CELLS = 4_000_000
# Of so many times more rows than are wanted, and so many more, the cheapest are taken.
N_TIMES = 4
N_MORE = 100


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
        queries, rows = [np.empty(0, np.intp)], [np.empty(0, np.intp)]
        step = max(1, MAX_CELLS // max(1, self.codes.size))
        for begin in range(0, len(x), step):
            at = np.arange(begin, min(begin + step, len(x)))
            off = None if lifted is None else lifted[at]
            near = self._distances(x[at], goal.take(at), cost, rules, off)
            m = min(k, near.shape[1])
            if m < near.shape[1]:
                some = np.argpartition(near, m - 1, axis=1)[:, :m]
                # Ties at the end of the list go to the first training row.
                last = np.take_along_axis(near, some, axis=1).max(axis=1)
                near = np.where(near <= last[:, None], near, np.inf)
            order = np.argsort(near, axis=1, kind="stable")[:, :m]
            found = np.isfinite(np.take_along_axis(near, order, axis=1))
            who, place = np.nonzero(found)
            queries.append(at[who])
            rows.append(order[who, place])
        return np.concatenate(queries), np.concatenate(rows)

    def _found(self, x, goal, cost, k, rules, lifted):
        """Return what `nearest` does, of the rows that the index finds."""
        labels = None
        if not self.model.regression:
            label = np.arange(len(self._points.members))
            same = goal.label[:, None] == label
            labels = np.where(goal.opposite[:, None], ~same, same)
        inside, kind = self.reached(goal)

        def keep(who, at):
            off = None if lifted is None else lifted[who]
            bad = ~inside[kind[who], at]
            bad |= self._unfit(x[who], self.codes[at], cost, rules, off)
            return ~bad

        wanted = min(N_TIMES * k + N_MORE, len(self))
        who, at, _ = self._points.nearest(self._embed(x), wanted, labels, keep)
        near = np.round(cost.rows(x[who], self.codes[at]), 9)
        order = np.lexsort((at, near, who))
        who, at = who[order], at[order]
        first = np.arange(len(who)) - np.searchsorted(who, who) < k
        return who[first], at[first]

    def _distances(self, x, goal, cost, rules, lifted):
        """Return the cost from each query to each row; inf where it is no answer."""
        before, after = x[:, None, :], self.codes[None, :, :]
        near = np.round(cost.rows(before, after), 9)
        off = None if lifted is None else lifted[:, None]
        inside, kind = self.reached(goal)
        bad = self._unfit(before, after, cost, rules, off) | ~inside[kind]
        near[bad] = np.inf
        return near

    def _unfit(self, before, after, cost, rules, lifted):
        """Return which rows are no answers to queries, whatever they are predicted.

        Shapes broadcast; the last axis has the columns.
        """
        changed = cost.n_changed(before, after)
        bad = (np.isnan(after) & ~np.isnan(before)).any(axis=-1) | (changed == 0)
        if rules is None:
            return bad
        tables = {"x": before, "cf": after}
        off = np.array(-1) if lifted is None else lifted
        for part in rules.parts:
            broken = ~holds(part.node, lambda table, j: tables[table][..., j])
            bad |= broken & (off != part.rule)
        if rules.max_changes is not None:
            limit = rules.limit(bad.shape[0], lifted if lifted is None else off.ravel())
            bad |= changed > limit.reshape(-1, *[1] * (bad.ndim - 1))
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
