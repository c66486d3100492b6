"""What `peers.py` hands to a peer: rows as numbers, the booster, the rules.

It runs in the peer's environment, where neither skcf nor scikit-learn need be. Numbers
stay as they are, categories are codes.
"""

import json
import time
from pathlib import Path

import numpy as np
import xgboost


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
        self.booster = xgboost.Booster(model_file=str(self.folder / "model.json"))
        self.booster.set_param({"nthread": 1})

    def proba(self, rows):
        """Return the probabilities of both classes, the same as the pipeline gives."""
        rows = np.asarray(rows, dtype=np.float64)
        blocks = [rows[:, self.numbers] * self.scale + self.shift]
        for j, size in zip(self.categories, self.spec["sizes"], strict=True):
            blocks.append(rows[:, [j]] == np.arange(size))
        encoded = np.hstack(blocks).astype(np.float32)
        p = self.booster.inplace_predict(encoded)
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
