"""The plane of two columns of a technology, computed for drawing."""

import numpy as np
from sklearn.utils import Bunch

from skcf._explanation._plain import format_label

_N_ANGLES = 361


def short(label):
    """Return the label of a unit; that of a row without one is its position."""
    return format_label(label).removeprefix("query ")


def plane_of(explanation, explainer, row, plan, after, names):
    """Return what `plot` draws, or the reason why there is nothing to draw."""
    free, technology = explainer._free, explainer.dea_._technology
    sides = technology.is_input[free]
    if free.sum() != 2 or sides.any() != sides.all():
        kinds = f"{int(sides.sum())} inputs and {int((~sides).sum())} outputs"
        return f"the columns that may change are {kinds}, not two of one kind"
    at = np.flatnonzero(free)
    wanted = float(explanation.target[row])
    own = np.flatnonzero(explanation.row == row)
    space = explainer._space
    farrell = space.encode(explanation.details.farrell, check_missing=False)
    curves = {
        level: _curve(technology, plan, at, explainer.measure, level)
        for level in dict.fromkeys((1.0, wanted))
    }
    labels, units = explainer.dea_.units_, technology.units
    peers = [
        (short(labels[i]), units[i, at]) for i in _in_plane(technology, plan, free)
    ]
    return Bunch(
        columns=[names[j] for j in at],
        curves=curves,
        wanted=wanted,
        label=format_label(explanation._label(row)).replace("query ", "unit "),
        unit=plan[at],
        farrell=farrell[row, space.plan[at]],
        targets=after[own][:, at],
        peers=peers,
        below=bool(sides.all()),
        shaded=bool(sides.all()) == (explainer.measure == "input"),
    )


def _in_plane(technology, plan, free):
    """Return the efficient units with the same amounts in the other columns."""
    other = np.abs(technology.units - plan)[:, ~free]
    same = (other <= 1e-9 * technology.scale[~free]).all(axis=1)
    rows = np.flatnonzero(same)
    return rows[technology.efficiency(technology.units[rows], "input") >= 1 - 1e-9]


def _curve(technology, plan, at, measure, level):
    """Return plans of one efficiency in the plane of two columns.

    A ray from the origin meets the curve where it meets the frontier of a plan with
    the other columns shrunk or stretched, or further out or in.
    """
    inputs = technology.is_input[at].all()
    fixed, factor = plan.copy(), 1.0
    if inputs and measure == "input":
        factor = 1.0 / level
    elif inputs:
        fixed[~technology.is_input] /= level
    elif measure == "output":
        factor = level
    else:
        fixed[technology.is_input] *= level
    angles = np.linspace(0, np.pi / 2, _N_ANGLES)
    rays = np.column_stack([np.cos(angles), np.sin(angles)]) * technology.scale[at]
    plans = np.tile(fixed, (len(rays), 1))
    plans[:, at] = rays
    reach = technology.efficiency(plans, "input" if inputs else "output")
    with np.errstate(divide="ignore"):
        length = factor * (reach if inputs else 1.0 / reach)
    kept = np.isfinite(length) & (length > 0)
    curve = rays[kept] * length[kept, None]
    if level == 1 or inputs == (measure == "input"):
        return curve
    # Where the plane ends for want of inputs, or of room for outputs, the other
    # measure does not have this efficiency.
    plans = np.tile(plan, (len(curve), 1))
    plans[:, at] = curve
    return curve[np.abs(technology.efficiency(plans, measure) - level) < 1e-6]
