"""Limits as integers, for a walk that asks them of many jobs: what gauges read, and the tests of equal jobs.

A `Rule` is broken where an amount, with what a gauge reads, is more than a number. What a job puts against it does not
change while it waits, so four integers are a test: column of the gauge, amount, number, and which reason is shown.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Final

from slurmsim.core.accounting.limit_reasons import LIMIT_REASONS
from slurmsim.core.accounting.limit_rules import Demand, Rule
from slurmsim.core.accounting.limit_usage import Gauge
from slurmsim.core.accounting.usage_counters import UsageCounters

NAMES: Final = ("", *sorted(LIMIT_REASONS))
NUMBERS: Final = {reason: number for number, reason in enumerate(NAMES) if number}
"""A reason a limit can give, as a number from 1 on."""
MOST: Final = 1 << 61  # of one number, so that two add up within 64 bits; no limit or usage is as large
NOTHING: Final = 0  # the column that always reads 0


class LimitTests:
    """The tests of equal jobs, flat, in the order in which they are asked."""

    __slots__ = ("n_asked", "n_before", "n_early", "of", "rows")

    def __init__(
        self, of: LimitColumns, before: list[int], early: list[int], asked: list[int], planned: list[int]
    ) -> None:
        self.of = of  # the `LimitColumns` that the rows refer to
        # n_before, n_early, n_asked: tests before nodes are looked for, then that of the least number of nodes, then
        # those of what the jobs ask for. The others are those of a plan.
        self.n_before, self.n_early, self.n_asked = len(before) // 4, len(early) // 4, len(asked) // 4
        # four integers each: column, amount, most, and the number of the reason, negative where other nodes may do
        self.rows = array("q", before + early + asked + planned)


class LimitColumns:
    """The readings of the gauges that tests refer to."""

    def __init__(self) -> None:
        self.values = array("q", (0,))  # by column, with room for more; as of the last `read`
        self._gauges: list[Gauge | None] = [None]
        self._column: dict[tuple[type[Gauge], int, int, int], int] = {}
        self._counted: dict[UsageCounters, list[int]] = {}  # columns that go with counters
        self._spent: list[int] = []  # columns that go with ledgers
        self._touched: dict[UsageCounters, None] = {}
        self._version = -1

    def touch(self, counters: Iterable[UsageCounters]) -> None:
        """Take note that these counters have changed."""
        if self._counted:
            self._touched.update(dict.fromkeys(counters))

    def read(self, version: int) -> array[int]:
        """`values`, up to date; `version` changes whenever a counter does, or what is used."""
        if version != self._version:
            self._version = version
            values, gauges, counted = self.values, self._gauges, self._counted
            for in_use in self._touched:
                for column in counted.get(in_use, ()):
                    gauge = gauges[column]
                    assert gauge is not None
                    values[column] = min(gauge.read(), MOST)
            self._touched.clear()
            for column in self._spent:
                gauge = gauges[column]
                assert gauge is not None
                values[column] = min(gauge.read(), MOST)
        return self.values

    def rows(self, rules: Iterable[Rule], demand: Demand) -> list[int]:
        """Return the tests of `demand`, but for those it passes whatever others do."""
        found: list[int] = []
        for rule in rules:
            amount = rule.amount(demand)
            if amount <= 0 or (rule.gauge is None and amount <= rule.most):
                continue
            column = NOTHING if rule.gauge is None else self._of(rule.gauge)
            number = NUMBERS[rule.reason]
            found += [column, min(amount, MOST), min(rule.most, MOST), number if rule.sure else -number]
        return found

    def _of(self, gauge: Gauge) -> int:
        """Return the column of what `gauge` reads."""
        key = type(gauge), id(gauge.in_use), id(gauge.ledger), gauge.at
        column = self._column.get(key)
        if column is None:
            column = self._column[key] = len(self._gauges)
            self._gauges.append(gauge)  # keeps the object alive, as the key is its identity
            if column == len(self.values):
                self.values = self.values + array("q", (0,)) * column  # a new one: who reads the old one has it locked
            self.values[column] = min(gauge.read(), MOST)
            if gauge.in_use is not None:
                self._counted.setdefault(gauge.in_use, []).append(column)
            if gauge.ledger is not None:
                self._spent.append(column)
        return column
