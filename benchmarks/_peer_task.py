"""What `peers.py` and `mace.py` hand to a peer: rows as numbers, the model, the rules.

It runs in the peer's environment, where neither skcf nor scikit-learn need be. Numbers
stay as they are, categories are codes.
"""

import json
import time
from pathlib import Path

import numpy as np


class Task:
    """The task in a folder: `train`, `y` and `queries`, and what it takes to score."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.spec = json.loads((self.folder / "task.json").read_text())
        arrays = np.load(self.folder / "task.npz")
        self.train, self.y, self.queries = (
            arrays[name] for name in ("train", "y", "queries")
        )
        self.names, self.numbers = self.spec["names"], self.spec["numbers"]
        self.categories = [
            j for j in range(len(self.names)) if j not in set(self.numbers)
        ]
        self.scale, self.shift = arrays["scale"], arrays["shift"]
        self._score = (_booster if "layers" not in self.spec else _network)(self)

    def proba(self, rows):
        """Return the probabilities of both classes, the same as the pipeline gives."""
        rows = np.asarray(rows, dtype=np.float64)
        blocks = [rows[:, self.numbers] * self.scale + self.shift]
        for j, size in zip(self.categories, self.spec["sizes"], strict=True):
            blocks.append(rows[:, [j]] == np.arange(size))
        p = self._score(np.hstack(blocks))
        return np.column_stack([1 - p, p])

    def run(self, explain, n, budget):
        """Explain the first `n` queries one by one, as far as the seconds reach.

        `explain` takes a row and returns a row, or None where it gives up.
        """
        answers, done, errors = np.full((n, len(self.names)), np.nan), 0, {}
        begin, cpu = time.time(), time.process_time()
        for row in self.queries[:n]:
            if time.time() - begin > budget:
                break
            try:
                answer = explain(row[None].copy())
            except Exception as error:
                # A peer that raises has no answer to this query; peers.py prints why.
                answer = None
                text = f"{type(error).__name__}: {error}".partition("\n")[0][:80]
                errors[text] = errors.get(text, 0) + 1
            if answer is not None:
                answers[done] = answer
            done += 1
        seconds, cpu = time.time() - begin, time.process_time() - cpu
        np.save(self.folder / "answers.npy", answers[:done])
        told = {"seconds": seconds, "cpu": cpu, "errors": errors}
        (self.folder / "told.json").write_text(json.dumps(told))


def _booster(task):
    """Return the function that gives the probability by a booster."""
    import xgboost

    booster = xgboost.Booster(model_file=str(task.folder / "model.json"))
    booster.set_param({"nthread": 1})
    return lambda encoded: booster.inplace_predict(encoded.astype(np.float32))


def _network(task):
    """Return the function that gives the probability by a network with ReLU units."""
    arrays = np.load(task.folder / "network.npz")
    layers = [
        (arrays[f"weight{i}"], arrays[f"bias{i}"]) for i in range(task.spec["layers"])
    ]

    def score(encoded):
        for weight, bias in layers[:-1]:
            encoded = np.maximum(encoded @ weight + bias, 0.0)
        weight, bias = layers[-1]
        return 1.0 / (1.0 + np.exp(-np.ravel(encoded @ weight + bias)))

    return score
