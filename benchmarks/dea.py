"""How exact and how fast targets of data envelopment analysis are.

    python benchmarks/dea.py [--bank 267] [--program 0]

The published sets are read from the folder that SKCF_DATA names. Of every unit below
the wanted efficiency the target is judged by scipy's linear program, and so are all
efficiencies. The bank is made: units of 5 inputs and 3 outputs. With `--program n`, n
of its units are also solved by the mixed-integer program, a minute each at most.
Seconds are those of the processor, fit included.
"""

import argparse
import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from _common import report

from skcf.costs import Cost
from skcf.dea import DEATargetExplainer

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.dea.units import efficiency

MISSED = ["infeasible", "not_found", "budget"]
NORM = {"scale": "mean", "average": False}
L1, L2 = Cost(l1=1.0, **NORM), Cost(l1=0.0, l2=1.0, **NORM)
L0L2 = Cost(l0=0.01, l1=0.0, l2=1.0, **NORM)
SETS = {
    "charnes1981": (";", ["x1", "x2", "x3", "x4", "x5"], ["y1", "y2", "y3"]),
    "Airlines": (",", ["Lab", "Fuel", "Matl", "Cap"], ["Pass", "Cargo"]),
    "Hotels": (
        ",",
        ["Employees", "Guest_rooms", "Area_F&B", "Operating_cost"],
        ["Room_revenue", "F&B_revenue", "Other_revenue"],
    ),
    "electricityFirms": (",", ["OPEX", "CAPEX"], ["Energy", "Length", "Customers"]),
    "riceProduction": (",", ["AREA", "LABOR", "NPK", "OTHER"], ["PROD"]),
}


def published():
    """Yield (name, table, inputs, outputs) of the published sets."""
    folder = os.environ.get("SKCF_DATA")
    if not folder:
        raise SystemExit("set SKCF_DATA to a folder with dea_*.csv")
    for name, (separator, inputs, outputs) in SETS.items():
        (path,) = Path(folder).glob(f"dea_*{name}.csv")
        table = pd.read_csv(path, sep=separator)
        yield name, table[[*inputs, *outputs]], inputs, outputs


def bank(n_units, seed=0):
    """Return a made bank: branches of different size, mix and skill."""
    random = np.random.default_rng(seed)
    size = random.lognormal(0, 0.5, n_units)
    mix = random.lognormal(0, 0.3, (n_units, 5))
    skill = np.exp(-random.exponential(0.3, n_units))
    made = (mix**0.2).prod(axis=1) * size * skill
    outputs = made[:, None] * random.lognormal(0, 0.25, (n_units, 3))
    table = np.hstack([size[:, None] * mix, outputs])
    names = ["teller", "typing", "ledgers", "supervision", "credit"]
    return pd.DataFrame(table, columns=[*names, "deposits", "loans", "services"])


def judged(explainer, table, plans):
    """Return the efficiencies of plans by scipy's linear program."""
    n_inputs, kind = len(explainer.inputs), explainer.returns_to_scale
    scale = table.to_numpy(float).mean(axis=0)
    units, plans = table.to_numpy(float) / scale, plans.to_numpy(float) / scale
    return np.array(
        [efficiency(units, n_inputs, p, kind, explainer.measure) for p in plans]
    )


def run(name, table, inputs, outputs, wanted, cost, label, **params):
    """Return the figures of one setting."""
    explainer = DEATargetExplainer(
        inputs=inputs, outputs=outputs, efficiency=wanted, cost=cost, **params
    )
    begin = time.process_time()
    explanation = explainer.fit(table).explain(table)
    busy = time.process_time() - begin
    found = judged(explainer, table, explanation.counterfactuals)
    before = judged(explainer, table, table)
    error = np.abs(explanation.prediction_before - before)[np.isfinite(before)]
    return {
        "set": name,
        "returns": explainer.returns_to_scale,
        "change": explainer.change,
        "measure": explainer.measure,
        "cost": label,
        "wanted": wanted,
        "units": len(table),
        "facets": len(explainer.dea_.facets_),
        "efficient": int((before > 1 - 1e-9).sum()),
        "targets": len(explanation.row),
        "without": int(np.isin(explanation.status, MISSED).sum()),
        "efficiency error": error.max(),
        "target error": np.abs(found - wanted).max(initial=0.0),
        "changes": explanation.n_changed.mean() if len(found) else np.nan,
        "cpu s": busy,
    }


def by_program(table, inputs, outputs, n):
    """Return the time and the cost of some units by facets and by the program."""
    rows = []
    for label, cost in (("l1", L1), ("l2", L2)):
        given = {"inputs": inputs, "outputs": outputs, "efficiency": 0.8, "cost": cost}
        exact = DEATargetExplainer(**given).fit(table)
        below = table[exact.dea_.efficiency_ < 0.8].head(n)
        program = DEATargetExplainer(**given, max_facets=0, time_limit=60.0).fit(table)
        for i in range(len(below)):
            one = exact.explain(below[i : i + 1])
            other = program.explain(below[i : i + 1])
            rows.append(
                {
                    "cost": label,
                    "unit": below.index[i],
                    "facets": one.cost[0],
                    "program": other.cost[0] if len(other.cost) else np.inf,
                    "proved": bool(other.optimal.all() and len(other.cost)),
                    "facets s": one.details.seconds,
                    "program s": other.details.seconds,
                }
            )
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bank", type=int, default=267)
    parser.add_argument("--program", type=int, default=0)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for name, table, inputs, outputs in published():
        for kind in ("crs", "vrs"):
            rows.append(
                run(name, table, inputs, outputs, 0.98, L1, "l1", returns_to_scale=kind)
            )
        for change, measure in (("outputs", "input"), ("both", "output")):
            more = {"change": change, "measure": measure, "returns_to_scale": "vrs"}
            rows.append(run(name, table, inputs, outputs, 0.9, L2, "l2", **more))
    made = bank(given.bank)
    inputs, outputs = list(made.columns[:5]), list(made.columns[5:])
    for kind in ("crs", "vrs"):
        for label, cost in (("l2", L2), ("l1", L1), ("l0+l2", L0L2)):
            for wanted in (0.8, 1.0):
                more = {"returns_to_scale": kind}
                rows.append(
                    run("bank", made, inputs, outputs, wanted, cost, label, **more)
                )
    report("dea", rows)
    _, table, inputs, outputs = next(published())
    explainer = DEATargetExplainer(
        inputs=inputs, outputs=outputs, efficiency=0.98, cost=L1
    ).fit(table)
    print("charnes1981, 36th unit, l1:", explainer.explain(table[35:36]).cost)
    if given.program:
        inputs, outputs = list(made.columns[:5]), list(made.columns[5:])
        report("dea_program", by_program(made, inputs, outputs, given.program))


if __name__ == "__main__":
    main()
