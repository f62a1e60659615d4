"""Names beside points, placed so that none covers another name, a point or the frame."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from perfarray.plots.figure import NOTE_SIZE, Floats, text_width

# All lengths are in points of 1/72 inch.
HEIGHT: Final = 10.0  # of a name
AWAY: Final = 6.0  # distance of a name from its point
MARKER: Final = 3.0  # half the width of a point
FOOT: Final = 14.0  # room at the lower border for a note
# a name on a screen, where letters have whole pixels, is at most so many times as wide as its
# outline
LOOSE: Final = 1.08
MOVES: Final = tuple(sign * step for step in range(14) for sign in (1, -1))[
    1:
]  # vertical shifts of a name, in its height
FARTHER: Final = (
    0.0,
    40.0,
    80.0,
)  # further distances of a name from its point, where there is no room beside it
NEAR: Final = (
    7  # shifts, in its height, up to which a name is moved so that its line crosses no other
)
# Keeps a name readable over an arrow; an outline of its letters would make paths of them, which are
# ten times as many bytes of an SVG.
BACKGROUND: Final = {
    "boxstyle": "square,pad=0.1",
    "facecolor": "white",
    "alpha": 0.7,
    "linewidth": 0,
}

Box: TypeAlias = tuple[float, float, float, float]  # left, bottom, right, top


class Mark(NamedTuple):
    """A point with a name, and the colour of the name.

    An arrow may lead to the point from the origin.
    """

    name: str
    x: float
    y: float
    colour: str
    is_arrow: bool


class Spot(NamedTuple):
    """A place for a name: its box, side of the point (-1 or 1), distance, and shift upwards."""

    box: Box
    side: int
    away: float
    up: float

    @property
    def is_moved(self) -> bool:
        """Whether the name is so far from its point that a line leads to it."""
        return self.up != 0 or self.away > AWAY


def write_names(ax: Axes, marks: Sequence[Mark], stretch: float = 1.0) -> list[str]:
    """Write names beside points, the farthest from the origin first, with a line to those moved.

    Return those that found no room.

    Both axes get one scale, or the vertical unit is `stretch` times as long.
    """
    figure = ax.get_figure(root=True)
    if isinstance(figure, Figure):
        figure.draw_without_rendering()  # the layout decides where points are
    widths = [LOOSE * text_width([mark.name], NOTE_SIZE) for mark in marks]
    _widen(ax, marks, widths, stretch)
    dots_per_point = ax.figure.dpi / 72
    window = ax.get_window_extent()
    frame = (
        window.x0 / dots_per_point,
        window.y0 / dots_per_point + FOOT,
        window.x1 / dots_per_point,
        window.y1 / dots_per_point,
    )
    positions = ax.transData.transform([(mark.x, mark.y) for mark in marks]) / dots_per_point
    origin = ax.transData.transform((0.0, 0.0)) / dots_per_point
    obstacles = [
        _around(position)
        for position, mark in zip(positions, marks, strict=True)
        if not mark.is_arrow
    ]
    shafts = [
        list(map(_around, _steps(origin, position))) if mark.is_arrow else []
        for position, mark in zip(positions, marks, strict=True)
    ]
    leaders: list[Box] = []
    left_out: list[str] = []
    for index in np.argsort(-np.hypot(*(positions - origin).T), kind="stable").tolist():
        mark, position = marks[index], positions[index]
        spots = list(_spots(position, widths[index], -1 if mark.x < 0 else 1))
        other_shafts = [
            box for number, shaft in enumerate(shafts) if number != index for box in shaft
        ] + leaders
        spot = _first_free(spots, position, frame, obstacles, shafts[index], other_shafts)
        if spot is None:
            left_out.append(mark.name)
            continue
        obstacles.append(spot.box)
        if spot.is_moved:
            leaders += [_around(point, 1.0) for point in _leader(spot, position)]
        _write(ax, mark, spot)
    return left_out


def _widen(ax: Axes, marks: Sequence[Mark], widths: Sequence[float], stretch: float) -> None:
    """Widen the horizontal axis until names have room, and give the vertical axis its scale."""
    window = ax.get_window_extent()
    length = window.width * 72 / ax.figure.dpi
    first, last = ax.get_xlim()
    needed = [(mark.x, width + 2 * AWAY) for mark, width in zip(marks, widths, strict=True)]
    # A wider axis makes names wider in data units: a few rounds settle that, where the names fit at
    # all.
    for _ in range(20):
        unit = (last - first) / length
        first = min([first, *(x - width * unit for x, width in needed if x < 0)])
        last = max([last, *(x + width * unit for x, width in needed if x >= 0)])
        if (last - first) / length <= unit:
            break
    bottom, top = ax.get_ylim()
    scale = max((last - first) / window.width, (top - bottom) * stretch / window.height)
    half_width, half_height = scale * window.width / 2, scale / stretch * window.height / 2
    ax.set_xlim((first + last) / 2 - half_width, (first + last) / 2 + half_width)
    ax.set_ylim((bottom + top) / 2 - half_height, (bottom + top) / 2 + half_height)


def _around(position: Floats, half: float = MARKER) -> Box:
    x, y = position
    return float(x - half), float(y - half), float(x + half), float(y + half)


def _steps(start: Floats, end: Floats) -> Floats:
    """Return points along a line, so close that no name fits between them."""
    number = max(2, int(np.hypot(*(end - start)) / MARKER))
    return start + np.linspace(0, 1, number)[:, None] * (end - start)


def _spots(position: Floats, width: float, outwards: int) -> Iterator[Spot]:
    """Yield the spots for a name, the nearest first; away from the origin before towards it."""
    x, y = position.tolist()
    for farther in FARTHER:
        for move in MOVES:
            for side in (outwards, -outwards):
                away = AWAY + farther
                left, middle = (x + away if side > 0 else x - away - width), y + move * HEIGHT
                yield Spot(
                    (left, middle - HEIGHT / 2, left + width, middle + HEIGHT / 2),
                    side,
                    away,
                    move * HEIGHT,
                )


def _leader(spot: Spot, position: Floats) -> Floats:
    """Return points along the line from a point to its name, without those at the ends."""
    left, bottom, right, top = spot.box
    end = np.array([left if spot.side > 0 else right, (bottom + top) / 2])
    return _steps(np.asarray(position), end)[2:-1]


def _first_free(
    spots: Sequence[Spot],
    position: Floats,
    frame: Box,
    obstacles: Sequence[Box],
    shaft: Sequence[Box],
    lines: Sequence[Box],
) -> Spot | None:
    """Return the first spot in the frame that nothing covers, and whose own line crosses none.

    If there is none near by, the own line may cross lines other than names; if there still is none,
    lines may cross the name.
    """
    left, bottom, right, top = frame
    inside = [
        spot
        for spot in spots
        if left <= spot.box[0]
        and spot.box[2] <= right
        and bottom <= spot.box[1]
        and spot.box[3] <= top
    ]
    adjacent = [spot for spot in inside if abs(spot.up) <= NEAR * HEIGHT]
    solid, crossing, everything = (
        np.array(boxes).reshape(-1, 4)
        for boxes in (obstacles, [*obstacles, *lines], [*obstacles, *lines, *shaft])
    )
    for candidates, covering, crossed in (
        (adjacent, everything, crossing),
        (inside, everything, solid),
        (inside, solid, solid),
    ):
        for spot in candidates:
            points = _leader(spot, position) if spot.is_moved else np.empty((0, 2))
            leader = np.concatenate([points - 0.5, points + 0.5], axis=-1)
            if not _overlaps(covering, np.array([spot.box])) and not _overlaps(crossed, leader):
                return spot
    return None


def _overlaps(occupied: Floats, boxes: Floats) -> bool:
    """Return whether any of the boxes (n, 4) overlaps any of those occupied (m, 4)."""
    left, bottom, right, top = occupied.T
    box_left, box_bottom, box_right, box_top = boxes.T[..., None]
    return bool(
        ((left < box_right) & (box_left < right) & (bottom < box_top) & (box_bottom < top)).any()
    )


def _write(ax: Axes, mark: Mark, spot: Spot) -> None:
    line = (
        {
            "arrowstyle": "-",
            "color": mark.colour,
            "alpha": 0.8,
            "linewidth": 0.5,
            "shrinkA": 0,
            "shrinkB": 0,
        }
        if spot.is_moved
        else None
    )
    ax.annotate(
        mark.name,
        (mark.x, mark.y),
        (spot.side * spot.away, spot.up),
        textcoords="offset points",
        ha="left" if spot.side > 0 else "right",
        va="center",
        fontsize=NOTE_SIZE,
        color=mark.colour,
        arrowprops=line,
        zorder=4,
        bbox=BACKGROUND,
    ).set_in_layout(False)
