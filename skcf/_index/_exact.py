"""Nearest training rows, by exhaustive comparison."""

import numpy as np

from skcf.constraints._bind import holds

MAX_CELLS = 4_000_000


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

    def nearest(self, x, goal, cost, k, rules=None, lifted=None):
        """Return (query, training row) of the `k` nearest rows in the target.

        Sorted by query and then by cost. With `rules`, only rows that satisfy all of
        them but the one that is `lifted` for a query. A row is left out where it
        equals the query or lacks a value that the query has.
        """
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

    def _distances(self, x, goal, cost, rules, lifted):
        """Return the cost from each query to each row; inf where it is no answer."""
        before, after = x[:, None, :], self.codes[None, :, :]
        near = np.round(cost.rows(before, after), 9)
        changed = cost.n_changed(before, after)
        bad = (np.isnan(after) & ~np.isnan(before)).any(axis=2) | (changed == 0)
        bad |= ~self._in_target(goal)
        if rules is not None:
            tables = {"x": before, "cf": after}
            off = np.full(len(x), -1) if lifted is None else lifted
            for part in rules.parts:
                broken = ~holds(part.node, lambda table, j: tables[table][:, :, j])
                bad |= broken & (off != part.rule)[:, None]
            if rules.max_changes is not None:
                many = changed > rules.max_changes
                bad |= many & (off != rules.max_changes_rule)[:, None]
        near[bad] = np.inf
        return near

    def _in_target(self, goal):
        """Return for each goal which training rows reach it."""
        n = len(self)
        out = np.empty((len(goal), n), dtype=bool)
        _, first, back = np.unique(
            goal.keys(), axis=0, return_index=True, return_inverse=True
        )
        for i, at in enumerate(first):
            same = goal.take(np.full(n, at))
            margin = self.model.margin(self.scores, self.probability, same)
            reached = same.reached(self.prediction, self.probability)
            out[back.ravel() == i] = reached & self.model.passes(margin)
        return out
