"""What a campaign did: faults by kind, survived or lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass
class Tally:
    seed: int
    left_out: Mapping[str, str]
    survived: Counter[str] = field(default_factory=Counter)
    lost: Counter[str] = field(default_factory=Counter)
    reasons: list[str] = field(default_factory=list)

    def add(self, kinds: Iterable[str], reason: str = "") -> None:
        """The faults of a round; with a reason it was lost, and they with it."""
        (self.lost if reason else self.survived).update(kinds)
        self.reasons += [reason] if reason else []

    @property
    def injected(self) -> Counter[str]:
        return self.survived + self.lost

    def __str__(self) -> str:
        lines = [f"{'fault':<24}{'injected':>9}{'survived':>9}{'lost':>6}"]
        for kind in sorted(self.injected):
            numbers = self.injected[kind], self.survived[kind], self.lost[kind]
            lines.append(f"{kind:<24}{numbers[0]:>9}{numbers[1]:>9}{numbers[2]:>6}")
        sums = [each.total() for each in (self.injected, self.survived, self.lost)]
        lines.append(f"{'all':<24}{sums[0]:>9}{sums[1]:>9}{sums[2]:>6}")
        lines += [f"left out: {kind}, {why}" for kind, why in self.left_out.items()]
        lines += [f"lost: {reason}" for reason in self.reasons]
        return "\n".join([*lines, f"seed {self.seed}"])
