"""Policies over edits: learned by REINFORCE or by gradient-less descent."""

import numpy as np
from scipy.special import expit, logit, ndtri

from skcf._space import PAD, uniform

CHANCES = (0.1, 0.8)
# Logits of values stay in an interval in which, of three, one has at most 0.85.
SPAN = 1.2
N_STARTS = 3
BETAS = (0.9, 0.999)


class Policy:
    """How much each group and each of its values is preferred, by query.

    Attributes
    ----------
    column : ndarray of shape (n, n_columns)
        The probability of each group to be changed; 0 where there is none.
    value : ndarray of shape (n, n_columns, n_values)
        The probability of each value given that its group is changed.
    """

    def __init__(self, column, value):
        self.column, self.value = column, value

    @property
    def best_value(self):
        """The position of the preferred value of each group."""
        return self.value.argmax(axis=2)

    @property
    def order(self):
        """The positions of the groups, the most preferred first."""
        return np.argsort(-np.round(self.column, 9), axis=1, kind="stable")

    def described(self, problem, edits):
        """Return what each query's policy prefers, as an array of lists of dicts."""
        values, space = problem.values, problem.space
        out = np.empty(len(edits.row), dtype=object)
        for i, order in enumerate(self.order):
            lines = []
            for c in order[edits.open[i, order]]:
                ids = edits.value[i, c]
                best = np.argsort(-self.value[i, c], kind="stable")
                best = best[ids[best] != PAD]
                members = space.groups[edits.group[i, c]]
                codes = values.cells(ids[best])[2].reshape(len(best), len(members))
                # The cells of a value stand in the order of its columns.
                texts = [
                    space.columns[j].values(codes[:, n]) for n, j in enumerate(members)
                ]
                names = tuple(_name(space.names[j]) for j in members)
                one = len(members) == 1
                lines.append(
                    {
                        "feature": names[0] if one else names,
                        "probability": float(self.column[i, c]),
                        "values": texts[0] if one else list(zip(*texts, strict=True)),
                        "value_probabilities": self.value[i, c, best].tolist(),
                    }
                )
            out[i] = lines
        return out


def reinforce(deck, *, learning_rate, batch_size, epochs, lambda1, lambda2):
    r"""Return the Policy that REINFORCE learns on edits.

    Groups are changed independently with probabilities :math:`p_c`, and get values from
    softmax distributions. The expected probability of the target is maximised, less
    :math:`\lambda_1` times the mean of :math:`p_c`, plus :math:`\lambda_2` times the
    mean of their entropies.
    """
    edits = deck.edits
    theta = np.zeros(edits.group.shape)
    q = np.zeros(edits.value.shape)
    adam = _Adam(learning_rate, theta, q)
    who = np.repeat(np.arange(len(deck)), batch_size)
    for epoch in range(epochs):
        if deck.problem.meter.expired:
            break
        policy = Policy(_chances(theta, edits), _softmax(q, edits))
        chosen, which = sample(deck, policy, epoch, batch_size)
        margin, _, _ = deck.play(who, *_flat(chosen, which))
        reward = deck.chance(margin).reshape(-1, batch_size)
        grads = gradients(theta, q, policy, chosen, which, reward, lambda1, lambda2)
        theta, q = adam.step(*grads)
        np.clip(theta, *logit(CHANCES), out=theta)
        np.clip(q, -SPAN, SPAN, out=q)
    return Policy(_chances(theta, edits), _softmax(q, edits))


def gradients(theta, q, policy, chosen, which, reward, lambda1, lambda2):
    """Return the gradients of the loss by `theta` and `q`, estimated from a batch.

    Shapes are (n, n_columns) and (n, n_columns, n_values); `chosen` and `which` have a
    batch axis in second place, and `reward` is (n, n_batch).
    """
    p = policy.column
    gain = reward - np.median(reward, axis=1, keepdims=True)
    n_batch = reward.shape[1]
    n_open = np.maximum((p > 0).sum(axis=1, keepdims=True), 1)
    push = (gain[:, :, None] * (chosen - p[:, None, :])).sum(axis=1) / n_batch
    pull = (lambda1 + lambda2 * theta) * p * (1 - p) / n_open
    by_theta = np.where(p > 0, pull - push, 0.0)
    by_q = np.zeros(q.shape)
    weight = gain[:, :, None] * chosen
    for k in range(q.shape[2]):
        hit = (which == k) - policy.value[:, None, :, k]
        by_q[:, :, k] = -(weight * hit).sum(axis=1) / n_batch
    return by_theta, by_q


def descend(deck, *, n_steps, radius, min_radius, most):
    """Return the Policy that gradient-less descent finds on edits.

    Groups and values have scores in [0, 1]; the `most` groups of the highest scores are
    changed if these are above one half, to the values of the highest scores. A step
    tries one point in each of some balls around the best scores so far, of radii that
    halve from `radius` down to `min_radius`. Of three starts, each begins near the best
    point of the one before.
    """
    edits = deck.edits
    n, n_columns, n_values = edits.value.shape
    a = np.where(edits.open, 0.5, 0.0)
    b = np.where(edits.value != PAD, 0.5, 0.0)
    best, top_a = np.full(n, np.inf), a
    radii = radius * 0.5 ** np.arange(1 + int(np.ceil(np.log2(radius / min_radius))))
    who = np.repeat(np.arange(n), len(radii))
    rows = np.arange(n)
    for turn in range(N_STARTS * n_steps):
        if deck.problem.meter.expired:
            break
        if turn and turn % n_steps == 0:
            a = np.where(edits.open, np.where(a > 0.5, 0.55, 0.45), 0.0)
        bits = deck.bits(rows, turn, len(radii), n_columns * (1 + n_values))
        step = radii[:, None] * ndtri(np.clip(uniform(bits), 1e-12, 1 - 1e-12))
        near_a = np.clip(a[:, None] + step[:, :, :n_columns], 0.0, 1.0)
        near_a *= edits.open[:, None]
        step = step[:, :, n_columns:].reshape(n, len(radii), n_columns, n_values)
        near_b = np.clip(b[:, None] + step, 0.0, 1.0) * (edits.value != PAD)[:, None]
        chosen = near_a > 0.5
        rank = np.argsort(np.argsort(-near_a, axis=2, kind="stable"), axis=2)
        chosen &= rank < most
        played = deck.play(who, *_flat(chosen, near_b.argmax(axis=3)))
        fitness = _fitness(deck, chosen, *played)
        top = fitness.argmin(axis=1)
        better = fitness[rows, top] < best
        best = np.where(better, fitness[rows, top], best)
        a = np.where(better[:, None], near_a[rows, top], a)
        # The start of a restart says less than the scores that it comes from.
        top_a = np.where(better[:, None], a, top_a)
        b = np.where(better[:, None, None], near_b[rows, top], b)
    total = b.sum(axis=2, keepdims=True)
    return Policy(top_a, np.divide(b, total, out=np.zeros_like(b), where=total > 0))


def _fitness(deck, chosen, margin, valid, cost):
    """Return the fitness of plays, (n, n_plays): those in the target first."""
    few = chosen.sum(axis=2) / max(chosen.shape[2], 1)
    short = 1.0 - deck.chance(margin).reshape(few.shape)
    valid, cost = valid.reshape(few.shape), cost.reshape(few.shape)
    # The number of changes decides, then the cost.
    worth = few + 1e-3 * cost / (1.0 + np.where(valid, cost, 0.0))
    nothing = ~chosen.any(axis=2)
    return np.where(valid, worth, np.where(nothing, np.inf, 2.0 + short))


def sample(deck, policy, turn, n_draws):
    """Return actions drawn from a policy: chosen groups, and positions of values.

    Shapes are (n, n_draws, n_columns).
    """
    n, n_columns = policy.column.shape
    bits = deck.bits(np.arange(n), turn, 2 * n_draws, n_columns)
    u = uniform(bits)
    chosen = u[:, :n_draws] < policy.column[:, None, :]
    run = np.cumsum(policy.value, axis=2)[:, None, :, :-1]
    which = (u[:, n_draws:, :, None] >= run).sum(axis=3)
    last = np.maximum((policy.value > 0).sum(axis=2) - 1, 0)
    return chosen, np.minimum(which, last[:, None, :])


def _name(name):
    return name if isinstance(name, str) else f"x{name}"


def _flat(chosen, which):
    """Return actions as one lot."""
    return (part.reshape(-1, part.shape[2]) for part in (chosen, which))


def _chances(theta, edits):
    return np.where(edits.open, expit(theta), 0.0)


def _softmax(q, edits):
    weight = np.where(edits.value != PAD, np.exp(q), 0.0)
    total = weight.sum(axis=2, keepdims=True)
    return np.divide(weight, total, out=np.zeros_like(weight), where=total > 0)


class _Adam:
    """Adam on several arrays; what it returns may be changed in place."""

    def __init__(self, rate, *start):
        self.rate, self.at, self.turn = rate, list(start), 0
        self.mean = [np.zeros_like(part) for part in start]
        self.square = [np.zeros_like(part) for part in start]

    def step(self, *grads):
        """Return the arrays after a step against the gradients."""
        self.turn += 1
        for i, grad in enumerate(grads):
            self.mean[i] = BETAS[0] * self.mean[i] + (1 - BETAS[0]) * grad
            self.square[i] = BETAS[1] * self.square[i] + (1 - BETAS[1]) * grad**2
            mean = self.mean[i] / (1 - BETAS[0] ** self.turn)
            square = self.square[i] / (1 - BETAS[1] ** self.turn)
            self.at[i] = self.at[i] - self.rate * mean / (np.sqrt(square) + 1e-8)
        return self.at
