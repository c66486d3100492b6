"""An explanation as a table for notebooks: the changed cells alone."""

import html

import numpy as np

from skcf._explanation._cells import feature_names
from skcf._explanation._plain import (
    counted,
    format_label,
    format_pair,
    format_target,
    format_value,
    is_number,
)

_MAX_QUERIES = 20
_MAX_CHANGES = 30
_MAX_RANKS = 5

# Significant digits of scores and costs; cells have as many as they need.
_FACT_DIGITS = 3

# Text takes the colour of the page and fills are translucent, so that the table is
# readable on any background without a guess at the theme.
_STYLE = """
<style>
.skcf-explanation {
  --skcf-line: color-mix(in srgb, currentColor 16%, transparent);
  --skcf-soft: color-mix(in srgb, currentColor 68%, transparent);
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
  font-size: 13px; line-height: 1.45; max-width: 100%; overflow-x: auto;
  font-variant-numeric: tabular-nums;
}
.skcf-explanation table.skcf-table {
  border-collapse: collapse; border: 0; margin: 0; font-size: inherit;
  table-layout: auto; color: inherit;
}
.skcf-explanation table.skcf-table caption {
  caption-side: top; text-align: left; padding: 2px 8px 8px; color: inherit;
  font-size: 14px;
}
.skcf-explanation table.skcf-table tbody tr.skcf-row,
.skcf-explanation table.skcf-table tbody tr.skcf-row:hover {
  background: transparent; color: inherit;
}
.skcf-explanation table.skcf-table tr.skcf-row th,
.skcf-explanation table.skcf-table tr.skcf-row td {
  border: 0; padding: 1px 18px 1px 8px; text-align: left; vertical-align: top;
  font-weight: 400; color: inherit; max-width: 24em; overflow-wrap: break-word;
  white-space: normal;
}
.skcf-explanation table.skcf-table tr.skcf-head th {
  font-size: 12px; color: var(--skcf-soft); padding-bottom: 5px;
}
.skcf-explanation table.skcf-table tr.skcf-query th {
  border-top: 1px solid var(--skcf-line); padding-top: 8px; padding-bottom: 4px;
  max-width: none;
}
.skcf-explanation table.skcf-table tr.skcf-change th { padding-left: 20px; }
.skcf-explanation table.skcf-table tbody tr.skcf-last th,
.skcf-explanation table.skcf-table tbody tr.skcf-last td { padding-bottom: 9px; }
.skcf-explanation .skcf-fact { margin-left: 10px; }
.skcf-explanation .skcf-soft { color: var(--skcf-soft); }
.skcf-explanation .skcf-facts { white-space: nowrap; }
.skcf-explanation .skcf-badge {
  display: inline-block; margin-left: 5px; padding: 0 8px; border-radius: 9px;
  font-size: 12px; background: color-mix(in srgb, var(--skcf-hue) 22%, transparent);
  border: 1px solid color-mix(in srgb, var(--skcf-hue) 65%, transparent);
}
.skcf-explanation .skcf-found { --skcf-hue: #009e73; }
.skcf-explanation .skcf-already { --skcf-hue: #56b4e9; }
.skcf-explanation .skcf-infeasible { --skcf-hue: #d55e00; }
.skcf-explanation .skcf-not_found { --skcf-hue: #e69f00; }
.skcf-explanation .skcf-budget { --skcf-hue: #cc79a7; }
.skcf-explanation .skcf-arrow {
  flex: none; width: 1.3em; font-weight: 700; color: var(--skcf-soft);
}
.skcf-explanation .skcf-up { color: #d9700f; }
.skcf-explanation .skcf-down { color: #2b8fd0; }
.skcf-explanation .skcf-after { display: inline-flex; font-weight: 600; }
.skcf-explanation .skcf-after span:last-child { max-width: 21em; }
</style>
"""


def explanation_to_html(explanation):
    """Return the table of an explanation, a block for each of the first queries."""
    n_queries = len(explanation.status)
    shown = np.flatnonzero(
        (explanation.row < _MAX_QUERIES) & (explanation.rank < _MAX_RANKS)
    )
    n_ranks = int(explanation.rank[shown].max(initial=0)) + 1
    places = {str(name): j for j, name in enumerate(feature_names(explanation.queries))}
    changes = {}
    for row, rank, feature, before, after in explanation._iter_changes(shown):
        changes.setdefault(row, {}).setdefault(feature, {})[rank] = (before, after)
    blocks = [
        _block(
            explanation,
            position,
            sorted(changes.get(position, {}).items(), key=lambda item: places[item[0]]),
            n_ranks,
        )
        for position in range(min(n_queries, _MAX_QUERIES))
    ]
    if n_queries > _MAX_QUERIES:
        more = counted(n_queries - _MAX_QUERIES, "more query", "more queries")
        blocks.append(f"<tbody>{_wide(_soft(f'{more} not shown'), n_ranks)}</tbody>")
    return (
        f'{_STYLE}<div class="skcf-explanation"><table class="skcf-table">'
        f"<caption>{html.escape(repr(explanation))}</caption>{_head(n_ranks)}"
        f"{''.join(blocks)}</table></div>"
    )


def _head(n_ranks):
    after = ["after"] if n_ranks == 1 else [f"after, rank {k}" for k in range(n_ranks)]
    cells = "".join(f'<th scope="col">{name}</th>' for name in ("before", *after))
    return (
        '<thead><tr class="skcf-row skcf-head"><th scope="col">feature</th>'
        f"{cells}</tr></thead>"
    )


def _wide(content, n_ranks, kind="query"):
    """Return a line over all columns."""
    return (
        f'<tr class="skcf-row skcf-{kind}"><th colspan="{2 + n_ranks}">{content}</th>'
        "</tr>"
    )


def _block(explanation, position, changes, n_ranks):
    """Return the lines of one query."""
    lines = [_wide(_header(explanation, position), n_ranks)]
    found = np.flatnonzero(explanation.row == position)
    if n_ranks > 1 and len(found):
        lines.append(_facts_by_rank(explanation, found[:n_ranks], n_ranks))
    for feature, after in changes[:_MAX_CHANGES]:
        lines.append(_change(feature, after, n_ranks))
    if len(changes) > _MAX_CHANGES:
        left = len(changes) - _MAX_CHANGES
        more = counted(left, "more changed feature", "more changed features")
        lines.append(_wide(_soft(more), n_ranks, "change"))
    if len(found) > n_ranks:
        left = len(found) - n_ranks
        more = counted(left, "more counterfactual", "more counterfactuals")
        lines.append(_wide(_soft(f"{more} not shown"), n_ranks, "change"))
    lines[-1] = lines[-1].replace('class="skcf-row', 'class="skcf-row skcf-last', 1)
    return f"<tbody>{''.join(lines)}</tbody>"


def _header(explanation, position):
    """Return what is known of a query: label, status, prediction, score and cost."""
    label = explanation._label(position)
    status = str(explanation.status[position])
    parts = [f"<b>{html.escape(format_label(label))}</b>"]
    if format_value(label) != str(position):
        parts.append(_soft(f"(row {position})"))
    words = status.replace("_", " ")
    parts.append(f'<span class="skcf-badge skcf-{status}">{words}</span>')
    before = explanation.prediction_before[position]
    if status != "found":
        parts.append(_fact("prediction", format_value(before)))
        if status != "already":
            parts.append(_fact("target", format_target(explanation.target[position])))
        rule = explanation._blocking_rule(position)
        if rule is not None:
            rule = f"<code>{html.escape(rule)}</code>"
            parts.append(f'<span class="skcf-fact">has an answer without {rule}</span>')
        return " ".join(parts)
    best = np.searchsorted(explanation.row, position)
    after = explanation.prediction[best]
    parts.append(_fact("prediction", _arrow(before, after)))
    scores = explanation.score_before[position], explanation.score[best]
    if not _same(scores, (before, after)):
        parts.append(_fact("score", _arrow(*scores, _FACT_DIGITS)))
    parts.append(_fact("cost", format_value(explanation.cost[best], _FACT_DIGITS)))
    if explanation.optimal[best]:
        parts.append(_soft("(proved optimal)"))
    elif np.isfinite(explanation.lower_bound[position]):
        bound = format_value(explanation.lower_bound[position], _FACT_DIGITS)
        parts.append(_soft(f"(proved ≥ {bound})"))
    return " ".join(parts)


def _same(scores, predictions):
    """Tell whether the scores repeat the predictions, as a regressor's do."""
    pairs = zip(scores, predictions, strict=True)
    return all(format_value(s) == format_value(p) for s, p in pairs)


def _arrow(before, after, digits=6):
    return f"{format_value(before, digits)} → {format_value(after, digits)}"


def _fact(name, text):
    return f'<span class="skcf-fact">{_soft(name)} {html.escape(text)}</span>'


def _soft(text):
    return f'<span class="skcf-soft">{text}</span>'


def _facts_by_rank(explanation, found, n_ranks):
    """Return a line with cost and score of each counterfactual.

    The prediction as well, where the counterfactuals of the query differ in it.
    """
    names = ["cost", "score"]
    if len(set(explanation.prediction[found].tolist())) > 1:
        names.append("prediction")
    cells = []
    for position in found:
        values = {name: getattr(explanation, name)[position] for name in names}
        facts = [
            f"{name} {html.escape(format_value(value, _FACT_DIGITS))}"
            for name, value in values.items()
        ]
        text = "<br/>".join(facts)
        cells.append(f'<td><span class="skcf-soft skcf-facts">{text}</span></td>')
    cells += ["<td></td>"] * (n_ranks - len(found))
    return f'<tr class="skcf-row"><th></th><td></td>{"".join(cells)}</tr>'


def _change(feature, after, n_ranks):
    """Return the line of a feature: its value, and its new one where it changes."""
    # As precise as the closest of the new values asks for.
    before = max((format_pair(*pair)[0] for pair in after.values()), key=len)
    cells = [f"<td>{html.escape(before)}</td>"]
    for rank in range(n_ranks):
        cells.append(f"<td>{_after(*after[rank]) if rank in after else ''}</td>")
    return (
        f'<tr class="skcf-row skcf-change"><th scope="row">{html.escape(feature)}</th>'
        f"{''.join(cells)}</tr>"
    )


def _after(before, after):
    """Return a new value, after an arrow that tells the direction of numbers."""
    arrow, kind = "→", ""
    if is_number(before) and is_number(after):
        arrow, kind = ("↑", " skcf-up") if after > before else ("↓", " skcf-down")
    text = html.escape(format_pair(before, after)[1])
    return (
        f'<span class="skcf-after"><span class="skcf-arrow{kind}">{arrow}</span> '
        f"<span>{text}</span></span>"
    )
