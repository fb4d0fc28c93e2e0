"""What a benchmark returns: rows of the table."""

from collections.abc import Callable
from dataclasses import dataclass, field


class Skipped(Exception):
    """A benchmark can't run here; the text says why."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One number against its limit. `notes` are the absolute values behind it."""

    name: str
    compared: str
    value: float
    limit: float
    unit: str = "×"
    notes: tuple[str, ...] = field(default_factory=tuple)

    @property
    def holds(self) -> bool:
        return self.value <= self.limit

    @property
    def verdict(self) -> str:
        if self.limit == float("inf"):
            return "for comparison"
        if self.holds:
            return "holds"
        if not self.limit:
            return "falls short"
        percent = round(100 * (self.value / self.limit - 1))
        return f"falls short by {percent or 'less than 1'} %"

    def cells(self) -> tuple[str, ...]:
        return self.name, self.compared, self._with_unit(self.value, 2), self._limit(), self.verdict

    def _limit(self) -> str:
        return "" if self.limit == float("inf") else "at most " + self._with_unit(self.limit, 2)

    def _with_unit(self, number: float, digits: int) -> str:
        text = f"{number:.{digits}f}" if isinstance(number, float) else str(number)
        return f"{text} {self.unit}".strip()


Benchmark = Callable[[], list[Row]]
