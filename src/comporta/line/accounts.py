"""Whether a batch has accounted for every offset that it was planned to cover; pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from comporta.words.batches import LedgerRow, PartitionStep
from comporta.words.errors import DamagedState, DataLoss


@dataclass(frozen=True)
class Planned:
    """A partition's share of a batch: from the ledger's position to Spark's planned end."""

    partition: int
    from_offset: int
    to_offset: int


def planned_steps(ledger: Mapping[int, LedgerRow], ends: Mapping[int, int]) -> list[Planned]:
    """What the batch covers, partition by partition; one that the ledger does not know is entered at 0."""
    steps = []
    for partition, end in sorted(ends.items()):
        start = ledger[partition].next_offset if partition in ledger else 0
        if end < start:
            raise DamagedState(
                f"the batch ends at {end}, before the ledger's position {start}", where=f"partition {partition}", do="start the line again"
            )
        steps.append(Planned(partition, start, end))
    return steps


def settle(
    topic: str, ledger: Mapping[int, LedgerRow], planned: Sequence[Planned], accounts: Sequence[Mapping[str, Any]]
) -> tuple[PartitionStep, ...]:
    """Match what the tasks say they saw with what was planned; any offset that nobody accounts for is a loss."""
    by_partition = {account["partition"]: account for account in accounts}
    if len(by_partition) != len(accounts) or not set(by_partition) <= {step.partition for step in planned}:
        raise DamagedState("the tasks answered for partitions that were not planned", where=topic, do="start the line again")
    return tuple(
        _step(topic, ledger.get(plan.partition), plan, by_partition.get(plan.partition))
        for plan in planned
        if plan.to_offset > plan.from_offset or plan.partition not in ledger
    )


def _step(topic: str, row: LedgerRow | None, plan: Planned, account: Mapping[str, Any] | None) -> PartitionStep:
    where = f"{topic}-{plan.partition}"
    if account is None:
        if plan.to_offset > plan.from_offset:
            raise _missing(where, [(plan.from_offset, plan.to_offset)])
        return PartitionStep(plan.partition, plan.from_offset, plan.to_offset, 0, 0, 0, 0, clock_us=row.clock_us if row else None)
    if account["first_offset"] < plan.from_offset or account["last_offset"] >= plan.to_offset:
        raise DamagedState(
            f"the batch was given offsets outside its range [{plan.from_offset}, {plan.to_offset})", where=where, do="start the line again"
        )
    holes = [(plan.from_offset, account["first_offset"]), *_pairs(account["gaps"]), (account["last_offset"] + 1, plan.to_offset)]
    missing = [(start, end) for start, end in holes if end > start]
    if missing:
        raise _missing(where, missing)
    tombstones = _pairs(account["tombstones"])
    return PartitionStep(
        partition=plan.partition,
        from_offset=plan.from_offset,
        to_offset=plan.to_offset,
        transactions=account["transactions"],
        dead_letters=account["dead_letters"],
        duplicates=account["duplicates"],
        tombstones=sum(end - start for start, end in tombstones),
        tombstone_offsets=tombstones,
        clock_us=account["clock_us"],
        last_offset=account["last_offset"],
        last_hash=account["last_hash"],
    )


def _pairs(flat: Sequence[int]) -> tuple[tuple[int, int], ...]:
    return tuple(zip(flat[::2], flat[1::2], strict=True))


def _missing(where: str, ranges: Sequence[tuple[int, int]]) -> DataLoss:
    count = sum(end - start for start, end in ranges)
    shown = ", ".join(f"[{start}, {end})" for start, end in ranges[:3]) + (", …" if len(ranges) > 3 else "")  # noqa: PLR2004 - three are enough to look at
    return DataLoss(
        f"{count} offsets are missing from the log: {shown}",
        where=where,
        do="nothing of this batch was committed; find out who deleted records or wrote in transactions",
    )
