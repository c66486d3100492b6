"""Which parts of a series to swap for those of a distractor, for a block of rows.

A distractor is a training series of the target. A candidate is (row, slot, mask): the
row with the parts of `mask` taken from its distractor number `slot`.
"""

import numpy as np

from skcf._space import mix, uniform

WIDEST = 8
START = -2.5
RATE = 0.3
SPARSE = 2.0
ENTROPY = 2.0
N_SAMPLED = 4
N_LIKED = 4
N_FINISHED = 4
N_CHAINS = 10
N_STEPS = 60
SURE = 0.95
MAX_CELLS = 2**24


class Swaps:
    """The series of a block with their distractors and the parts to swap.

    Parameters
    ----------
    rays : Rays
        The block, and how it is scored.
    distractors : ndarray of shape (n_rows, n_slots, n_features)
    part : ndarray of shape (n_features,)
    seed : ndarray of uint64 of shape (n_rows,)
    """

    def __init__(self, rays, distractors, part, seed):
        self.rays, self.part, self.seed = rays, part, seed
        self.distractors = distractors
        self.n_rows, self.n_slots = distractors.shape[:2]
        self.n_parts = int(part.max()) + 1
        # Parts in which a distractor is like the row are never worth a swap.
        self.differs = np.zeros((self.n_rows, self.n_slots, self.n_parts), dtype=bool)
        row, slot, cell = np.nonzero(distractors != rays.x[:, None])
        self.differs[row, slot, part[cell]] = True

    def codes(self, row, slot, mask):
        """Return candidates as codes."""
        taken = self.distractors[row, slot]
        return np.where(mask[:, self.part], taken, self.rays.x[row])

    def margins(self, row, slot, mask):
        """Return the margins of candidates; not all are written out at once."""
        step = max(1, MAX_CELLS // self.rays.x.shape[1])
        out = np.empty(len(row))
        for begin in range(0, len(row), step):
            at = slice(begin, begin + step)
            codes = self.codes(row[at], slot[at], mask[at])
            out[at] = self.rays.margins(row[at], codes)
        return out

    def passes(self, margin):
        """Return which margins are those of the target."""
        return self.rays.model.passes(margin)

    def draw(self, row, count, turn):
        """Return numbers in [0, 1), (len(row), count), of the stream of each row."""
        at = np.uint64(turn) * np.uint64(0x9E3779B9) + np.arange(count, dtype=np.uint64)
        with np.errstate(over="ignore"):
            return uniform(mix(mix(self.seed[row])[:, None] + mix(at)))

    @property
    def over(self):
        """Whether the time is up."""
        return self.rays.meter.expired


def swap_greedily(swaps):
    """Return candidates in the target: one for each distractor, parts added in turn.

    The part that raises the margin most is swapped next, until the target is reached;
    then swaps that are not needed are undone.
    """
    row = np.repeat(np.arange(swaps.n_rows), swaps.n_slots)
    slot = np.tile(np.arange(swaps.n_slots), swaps.n_rows)
    mask, reached = _added(swaps, row, slot)
    row, slot, mask = row[reached], slot[reached], mask[reached]
    return row, slot, without_needless(swaps, row, slot, mask)


def _added(swaps, row, slot):
    mask = np.zeros((len(row), swaps.n_parts), dtype=bool)
    reached = np.zeros(len(row), dtype=bool)
    live = np.arange(len(row))
    while len(live) and not swaps.over:
        open_ = ~mask[live] & swaps.differs[row[live], slot[live]]
        at, part = np.nonzero(open_)
        if not len(at):
            break
        tried = mask[live[at]]
        tried[np.arange(len(at)), part] = True
        margin = swaps.margins(row[live[at]], slot[live[at]], tried)
        first = _highest(at, margin, part)
        live = live[at[first]]
        mask[live] = tried[first]
        reached[live] = swaps.passes(margin[first])
        live = live[~reached[live]]
    return mask, reached


def _highest(owner, margin, tie):
    """Return the position of the highest margin of each owner."""
    order = np.lexsort((tie, -np.round(margin, 9), owner))
    return order[np.unique(owner[order], return_index=True)[1]]


def without_needless(swaps, row, slot, mask, worth=None):
    """Undo swaps that are not needed: large lots first, those of least `worth` first.

    Each mask is cut into lots of half of its parts, and the lot whose loss leaves the
    highest margin in the target goes; where none can go, lots are halved, down to
    single parts.
    """
    mask = mask.copy()
    size = np.maximum(1, mask.sum(axis=1) // 2)
    if worth is None:
        worth = np.zeros(mask.shape)
    live = np.flatnonzero(mask.sum(axis=1) > 1)
    while len(live) and not swaps.over:
        owner, tried = _lots(mask[live], size[live], worth[live])
        margin = swaps.margins(row[live[owner]], slot[live[owner]], tried)
        first = _highest(owner, margin, np.arange(len(owner)))
        good = swaps.passes(margin[first])
        at = live[owner[first]]
        mask[at[good]] = tried[first[good]]
        over = ~good & (size[at] == 1)
        size[at[~good]] = np.maximum(1, size[at[~good]] // 2)
        size[at] = np.minimum(size[at], np.maximum(1, mask[at].sum(axis=1) // 2))
        live = at[~over & (mask[at].sum(axis=1) > 1)]
    return mask


def _lots(mask, size, worth):
    """Return (owner, mask) with one lot of each mask left out at a time."""
    owners, rest = [], []
    for i, (chosen, step) in enumerate(zip(mask, size, strict=True)):
        parts = np.flatnonzero(chosen)
        parts = parts[np.argsort(worth[i, parts], kind="stable")]
        for begin in range(0, len(parts), step):
            lot = parts[begin : begin + step]
            if len(lot) < len(parts):
                left = chosen.copy()
                left[lot] = False
                owners.append(i)
                rest.append(left)
    return np.array(owners, dtype=np.intp), np.array(rest)


def swap_by_climbing(swaps):
    """Return candidates in the target, by hill climbing over sets of parts.

    Chains start from random sets, spread over the distractors, and flip one part at a
    time where that lowers the loss: the square of what the probability lacks to 0.95,
    and a price for more than three parts.
    """
    row = np.repeat(np.arange(swaps.n_rows), N_CHAINS)
    chain = np.tile(np.arange(N_CHAINS), swaps.n_rows)
    slot = chain % swaps.n_slots
    n = swaps.n_parts
    everyone = np.arange(swaps.n_rows)
    start = swaps.draw(everyone, N_CHAINS * n, 0).reshape(len(row), n)
    mask = (start < min(0.5, 3 / n)) & swaps.differs[row, slot]
    loss, margin = _loss(swaps, row, slot, mask)
    kept = [(row, slot, mask.copy(), swaps.passes(margin) & mask.any(axis=1))]
    for step in range(1, N_STEPS + 1):
        if swaps.over:
            break
        flip = swaps.draw(everyone, N_CHAINS, step).ravel()
        flip = np.minimum((flip * n).astype(np.intp), n - 1)
        tried = mask.copy()
        tried[np.arange(len(row)), flip] ^= True
        tried &= swaps.differs[row, slot]
        new, margin = _loss(swaps, row, slot, tried)
        lower = new < loss
        mask[lower], loss[lower] = tried[lower], new[lower]
        valid = swaps.passes(margin) & tried.any(axis=1)
        kept.append((row[valid], slot[valid], tried[valid], np.ones(valid.sum(), bool)))
    row, slot, mask, valid = (np.concatenate(p) for p in zip(*kept, strict=True))
    return _finished(swaps, row[valid], slot[valid], mask[valid])


def _loss(swaps, row, slot, mask):
    margin = swaps.margins(row, slot, mask)
    lack = np.maximum(0.0, SURE - 1.0 + swaps.rays.model.shortfall(margin))
    return lack**2 + 0.8 * np.maximum(0, mask.sum(axis=1) - 3), margin


def _finished(swaps, row, slot, mask, worth=None):
    """Return the smallest few candidates of each row without needless swaps.

    A row without any starts from all of its nearest distractor.
    """
    rest = np.setdiff1d(np.arange(swaps.n_rows), row)
    if len(rest) and not swaps.over:
        first = np.zeros(len(rest), dtype=np.intp)
        whole = swaps.differs[rest, first]
        valid = swaps.passes(swaps.margins(rest, first, whole)) & whole.any(axis=1)
        row = np.concatenate([row, rest[valid]])
        slot = np.concatenate([slot, first[valid]])
        mask = np.concatenate([mask, whole[valid]])
    order = np.lexsort((slot, mask.sum(axis=1), row))
    turn = np.arange(len(row)) - np.searchsorted(row[order], row[order])
    order = order[turn < N_FINISHED]
    row, slot, mask = row[order], slot[order], mask[order]
    worth = None if worth is None else worth[row]
    return row, slot, without_needless(swaps, row, slot, mask, worth)


def swap_by_policy(swaps, n_epochs, batch_size):
    """Return candidates in the target, by a policy learned for each row.

    The policy swaps each part with a chance of its own, and draws the distractor; both
    follow the gradient of the expected margin (REINFORCE), with a price on swaps and a
    reward for entropy. All rows learn at once: an epoch is one batch of model calls.
    """
    n_rows, n = swaps.n_rows, swaps.n_parts
    policy = _Policy(n_rows, n, swaps.n_slots)
    everyone = np.arange(n_rows)
    row = np.repeat(everyone, batch_size)
    kept = []
    for epoch in range(1, n_epochs + 1):
        if swaps.over:
            break
        draws = swaps.draw(everyone, batch_size * (n + 1), epoch)
        draws = draws.reshape(n_rows, batch_size, n + 1)
        mask, slot = policy.act(draws)
        flat = row, slot.ravel(), mask.reshape(-1, n)
        margin = swaps.margins(*flat)
        kept.append((*flat, swaps.passes(margin)))
        reward = 1.0 - swaps.rays.model.shortfall(margin)
        policy.learn(mask, slot, reward.reshape(n_rows, batch_size), epoch)
    kept += _read_out(swaps, policy, n_epochs + 1)
    row, slot, mask, valid = (np.concatenate(p) for p in zip(*kept, strict=True))
    mask = mask & swaps.differs[row, slot]
    valid = valid & mask.any(axis=1)
    return _finished(swaps, row[valid], slot[valid], mask[valid], policy.theta)


def _read_out(swaps, policy, turn):
    """Yield what the policy says: its first parts, singly and together, and samples."""
    n_rows, n = policy.theta.shape
    everyone = np.arange(n_rows)
    order = np.argsort(-policy.theta, axis=1, kind="stable")
    rank = np.argsort(order, axis=1, kind="stable")
    widest = min(WIDEST, n)
    mask = rank[:, None, :] <= np.arange(widest)[None, :, None]
    row = np.repeat(everyone, widest)
    liked = np.argsort(-policy.choice, axis=1, kind="stable")
    first = row, liked[row, 0], mask.reshape(-1, n)
    few = min(N_LIKED, n)
    mask = rank[:, None, :] == np.arange(few)[None, :, None]
    singles = [
        (np.repeat(everyone, few), np.repeat(liked[:, at], few), mask.reshape(-1, n))
        for at in range(min(N_LIKED, swaps.n_slots))
    ]
    draws = swaps.draw(everyone, N_SAMPLED * (n + 1), turn)
    mask, slot = policy.act(draws.reshape(n_rows, N_SAMPLED, n + 1))
    mask &= rank[:, None, :] < widest
    row = np.repeat(everyone, N_SAMPLED)
    for told in (first, *singles, (row, slot.ravel(), mask.reshape(-1, n))):
        if not swaps.over:
            yield (*told, swaps.passes(swaps.margins(*told)))


class _Policy:
    """A chance of each part and a softmax over distractors, for each row.

    Moments of Adam smooth the gradients.
    """

    def __init__(self, n_rows, n_parts, n_slots):
        self.theta = np.full((n_rows, n_parts), START)
        self.choice = np.zeros((n_rows, n_slots))
        self._moments = [
            (np.zeros_like(a), np.zeros_like(a)) for a in (self.theta, self.choice)
        ]

    def act(self, draws):
        """Return (mask, slot) of actions of draws, (n_rows, n_actions, n_parts + 1)."""
        p = np.clip(_sigmoid(self.theta), 0.02, 0.8)
        mask = draws[:, :, :-1] < p[:, None]
        steps = np.cumsum(_softmax(self.choice), axis=1)[:, None]
        slot = (draws[:, :, -1:] > steps).sum(axis=2)
        return mask, np.minimum(slot, self.choice.shape[1] - 1)

    def learn(self, mask, slot, reward, epoch):
        """Take one step against the gradient of the loss."""
        gain = reward - np.median(reward, axis=1, keepdims=True)
        p, n_parts = _sigmoid(self.theta), self.theta.shape[1]
        slope = -(gain[:, :, None] * (mask - p[:, None])).mean(axis=1)
        slope += (SPARSE + ENTROPY * self.theta) * p * (1 - p) / n_parts
        chosen = slot[:, :, None] == np.arange(self.choice.shape[1])
        chosen = chosen - _softmax(self.choice)[:, None]
        drift = -(gain[:, :, None] * chosen).mean(axis=1)
        for at, (value, grad) in enumerate(((self.theta, slope), (self.choice, drift))):
            mean, square = self._moments[at]
            mean *= 0.9
            mean += 0.1 * grad
            square *= 0.999
            square += 0.001 * grad**2
            step = mean / (1 - 0.9**epoch)
            value -= RATE * step / (np.sqrt(square / (1 - 0.999**epoch)) + 1e-8)


def _sigmoid(z):
    return 1.0 / (1.0 + np.exp(-z))


def _softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
