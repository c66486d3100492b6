"""Drawing changes line by line, laid out in points."""

from skcf._explanation._plain import (
    format_label,
    format_pair,
    format_target,
    format_value,
)

# In points.
_LINE = 17.0
_GAP = 9.0
_FONT = 9.0
_INDENT = 10.0
_SPACE = 7.0

# The share of the width that labels and feature names have.
_NAMES = 0.3

# Colours of Okabe and Ito, told apart with any colour vision; the arrow heads show the
# direction as well.
_UP = "#D55E00"
_DOWN = "#0072B2"
_GREY = "#808080"
_TRACK = "#80808040"


def height_of(lines):
    """Return the height of lines, in points."""
    gaps = sum(line.kind in ("heading", "hidden") for line in lines[1:])
    return _LINE * len(lines) + _GAP * gaps


class Panel:
    """The axes with the changes, their data coordinates in points from the top left.

    Parameters
    ----------
    ax : matplotlib Axes
        The axes.

    ranges : dict of str to (float, float)
        The ends of the scale of each numeric feature.
    """

    def __init__(self, ax, ranges):
        self.ax = ax
        self.ranges = ranges
        self.texts, self.arrows = [], []
        self.points_per_pixel = 72 / ax.figure.dpi

    def draw(self, lines):
        """Draw lines top down, and return all text and the arrows of numbers."""
        box = self.ax.get_window_extent()
        # Axes that are too low for the lines get smaller letters and lines instead.
        self.scale = min(1.0, box.height * self.points_per_pixel / height_of(lines))
        self.width = box.width * self.points_per_pixel / self.scale
        self.left = _NAMES * self.width
        self.ax.set_xlim(0, self.width)
        self.ax.set_ylim(box.height * self.points_per_pixel / self.scale, 0)
        self.ax.set_axis_off()
        self.pad = self._widest_number(lines)
        y = 0.0
        for position, line in enumerate(lines):
            if position and line.kind in ("heading", "hidden"):
                y += _GAP
                self._rule(y - _GAP / 2)
            getattr(self, f"_draw_{line.kind}")(line, y + _LINE / 2)
            y += _LINE
        return self.texts, self.arrows

    def _draw_key(self, line, y):
        x = self.left
        for name, color, back in (("increase", _UP, False), ("decrease", _DOWN, True)):
            ends = (x + 28, x + 4) if back else (x + 4, x + 28)
            self._arrow(*ends, y, color)
            x += 28 + _SPACE
            x += self._text(x, y, name, color=_GREY) + 2 * _SPACE
        note = "on the range of each feature"
        if x + self._measure(note) <= self.width:
            self._text(x, y, note, color=_GREY)

    def _draw_heading(self, line, y):
        group = line.group
        found = group.rank is not None
        name = format_label(group.label)
        if group.rank:
            name += f", rank {group.rank}"
        soft = {} if found else {"color": _GREY}
        self._text(0, y, name, room=self.left - _SPACE, weight="bold", **soft)
        right = self.width
        if found:
            cost = f"cost {format_value(group.cost, 3)}"
            right -= self._text(right, y, cost, ha="right", color=_GREY) + _SPACE
            before = format_value(group.prediction_before)
            after = format_value(group.prediction)
            self._transition(y, before, after, self.left, right, weight="bold")
            return
        text = group.status.replace("_", " ")
        text += f": predicted {format_value(group.prediction_before)}"
        if group.status != "already":
            text += f", target {format_target(group.target)}"
        self._text(self.left, y, text, room=right - self.left, color=_GREY)

    def _draw_note(self, line, y):
        room = self.width - _INDENT
        self._text(_INDENT, y, line.text, room=room, color=_GREY, style="italic")

    def _draw_hidden(self, line, y):
        self._text(0, y, line.text, room=self.width, color=_GREY, style="italic")

    def _draw_category(self, line, y):
        self._feature(line, y)
        before, after = format_pair(line.before, line.after)
        self._transition(y, before, after, self.left, self.width)

    def _draw_number(self, line, y):
        self._feature(line, y)
        pair = line.before, line.after
        low, high = self.ranges.get(line.feature, pair)
        low, high = min(low, *pair), max(high, *pair)
        start, stop = self.left + self.pad, self.width - self.pad
        self.ax.plot([start, stop], [y, y], color=_TRACK, linewidth=1.0, zorder=1)
        ends = [start + (stop - start) * (float(v) - low) / (high - low) for v in pair]
        up = line.after > line.before
        color = _UP if up else _DOWN
        self.arrows.append(self._arrow(*ends, y, color, back=not up))
        texts = format_pair(*pair)
        for text, end, side in zip(
            texts, ends, (-1, 1) if up else (1, -1), strict=True
        ):
            style = {"weight": "bold"} if text is texts[1] else {}
            # The scale ends where text begins.
            box = {
                "facecolor": self.ax.figure.get_facecolor(),
                "linewidth": 0,
                "pad": 1,
            }
            self._text(
                end + side * _SPACE,
                y,
                text,
                room=self.pad - _SPACE,
                ha="left" if side > 0 else "right",
                bbox=box,
                **style,
            )

    def _feature(self, line, y):
        self._text(_INDENT, y, line.feature, room=self.left - _INDENT - _SPACE)

    def _transition(self, y, before, after, left, right, **style):
        """Write old and new with an arrow between them, in the middle of the scale.

        The arrow moves aside where one of the texts is too long and the other is not.
        """
        half = 6.0
        middle = (self.left + self.width) / 2
        spare_before = middle - half - _SPACE - left - self._measure(before, **style)
        spare_after = (
            right - middle - half - _SPACE - self._measure(after, weight="bold")
        )
        if spare_after < 0 < spare_before:
            middle -= min(-spare_after, spare_before)
        elif spare_before < 0 < spare_after:
            middle += min(-spare_before, spare_after)
        start, stop = middle - half, middle + half
        room = start - _SPACE - left
        self._text(start - _SPACE, y, before, room=room, ha="right", **style)
        self._arrow(start, stop, y, _GREY, dot=False)
        room = right - stop - _SPACE
        self._text(stop + _SPACE, y, after, room=room, weight="bold")

    def _arrow(self, before, after, y, color, dot=True, back=None):
        """Draw a line with a dot at its begin and a head at its end."""
        back = after < before if back is None else back
        (line,) = self.ax.plot(
            [before, after], [y, y], color=color, linewidth=1.6 * self.scale, zorder=2
        )
        size = 5.0 * self.scale
        # Closer than this, the dot would hide which way the head points.
        if dot and abs(after - before) > 3.0:
            self.ax.plot(
                before,
                y,
                marker="o",
                markersize=size,
                markerfacecolor=self.ax.figure.get_facecolor(),
                markeredgecolor=color,
                markeredgewidth=1.3 * self.scale,
                zorder=3,
            )
        head = "<" if back else ">"
        self.ax.plot(
            after,
            y,
            marker=head,
            markersize=size + 1,
            color=color,
            markeredgewidth=0.5,
            zorder=4,
        )
        return line

    def _rule(self, y):
        self.ax.plot([0, self.width], [y, y], color=_TRACK, linewidth=0.8, zorder=0)

    def _text(self, x, y, text, room=None, **style):
        """Write text, shortened to its room, and return its width in points."""
        artist = self._artist(x, y, text, **style)
        self.texts.append(artist)
        text = artist.get_text()
        kept = len(text)
        # Widths depend a little on where in a pixel the text begins.
        while room is not None and kept > 1 and self._width(artist) > room + 1.0:
            kept = min(kept - 1, int(kept * room / self._width(artist)) + 1)
            artist.set_text(text[:kept].rstrip() + "…")
        return self._width(artist)

    def _artist(self, x, y, text, **style):
        # Names may hold line breaks, and dollar signs that are not formulas.
        return self.ax.text(
            x,
            y,
            " ".join(text.split()),
            va="center_baseline",
            fontsize=_FONT * self.scale,
            parse_math=False,
            zorder=5,
            **style,
        )

    def _width(self, artist):
        return artist.get_window_extent().width * self.points_per_pixel / self.scale

    def _measure(self, text, **style):
        artist = self._artist(0, 0, text, **style)
        width = self._width(artist)
        artist.remove()
        return width

    def _widest_number(self, lines):
        """Return the room that values need at both ends of the scales."""
        widths = [
            self._measure(text, weight="bold")
            for line in lines
            if line.kind == "number"
            for text in format_pair(line.before, line.after)
        ]
        return min(max(widths, default=0.0) + _SPACE + 1.0, 0.3 * self.width)
