"""What of a scheduler can be written in Python: its policy, and what requests are worth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from halfturn._halfturn import Waiting

POINTS = 8
"""So many points a yield curve has at most."""


class Policy(Protocol):
    """The order in which waiting requests are served: an object for each device of each run."""

    def choose(self, now_ns: int, arm: int, waiting: Sequence[Waiting], /) -> int:
        """The place in `waiting` of the one to serve next.

        `waiting` has at least one, in the order in which they came; `arm` is the block behind the last command.
        """
        ...


def curve(left: Callable[[float], float], /, until: float = 1.0) -> list[list[float]]:
    """A yield curve for `[scheduler.class.NAME] curve`: how much of a request's value is left, from 1 down to 0, when so much of
    the time to its deadline has passed; looked at from 0 to `until`.

    Of the lines through eight points, it is one that is nowhere far from the function: points are put where it is farthest.
    """
    places = [until * i / 1024 for i in range(1025)]
    values = [min(max(float(left(place)), 0.0), 1.0) for place in places]
    if rising := next((i for i in range(1, len(values)) if values[i] > values[i - 1]), None):
        raise ValueError(f"a yield curve that rises, at {places[rising]}")
    chosen = [0, len(places) - 1]
    while len(chosen) < POINTS:
        farthest, where = 0.0, 0
        for first, last in zip(chosen, chosen[1:]):
            slope = (values[last] - values[first]) / (last - first)
            for i in range(first + 1, last):
                distance = abs(values[i] - values[first] - slope * (i - first))
                if distance > farthest:
                    farthest, where = distance, i
        if farthest < 1e-6:
            break
        chosen = sorted([*chosen, where])
    return [[places[i], values[i]] for i in chosen]
