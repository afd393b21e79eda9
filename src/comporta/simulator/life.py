"""The bank's days: who acts when, what the bank counts, and the message that comes of it."""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

from comporta.simulator.acts import Act, Scene, honest
from comporta.simulator.chance import draws, wait
from comporta.simulator.frauds import LONGEST_US, MEAN_LENGTH, STORIES
from comporta.simulator.places import kilometres
from comporta.simulator.world import AWAKE_HOURS, WAKE_CLASSES, WAKE_HOURS, Customer, Memory, customer, whereabouts

ZONE = ZoneInfo("America/Sao_Paulo")
_SECOND = 1_000_000
_MINUTE = 60 * _SECOND
_DAY = 24 * 60 * _MINUTE
_KNOWN_CUSTOMERS = 50_000
_FORGOTTEN_TIMES = 64
_STORIES_AT_START = 20_000
_OUT_OF_HOURS = 0.03

# How busy the bank is, hour by hour; the mean is 1.
_BUSY = (4, 2, 2, 2, 3, 5, 10, 16, 20, 24, 25, 26, 29, 25, 23, 24, 25, 26, 29, 27, 24, 20, 15, 10)
RHYTHM = tuple(busy * 24 / sum(_BUSY) for busy in _BUSY)

_EVERY_CLASS = tuple(range(WAKE_CLASSES))
_AWAKE = tuple(tuple(kind for kind in _EVERY_CLASS if (hour - WAKE_HOURS[kind]) % 24 < AWAKE_HOURS) for hour in range(24))


@dataclass(frozen=True)
class Plan:
    """What decides every byte of a run. `rhythm`: more by day than by night; without it, evenly at `per_second`."""

    seed: int
    start_us: int
    customers: int
    per_second: float
    fraud_rate: float = 0.01
    leak: bool = False
    rhythm: bool = True


class Message(NamedTuple):
    """A transaction ready to be sent. `story` is the truth about it: None, or the fraud that it is part of."""

    key: bytes
    value: bytes
    transaction_id: str
    cents: int
    at_us: int
    story: str | None


def messages(plan: Plan) -> Iterator[Message]:
    """The bank's transactions in the order of their time, without end."""
    bank = _Bank(plan)
    at = plan.start_us
    while True:
        at += bank.pause()
        while bank.stories and bank.stories[0][0] <= at:
            begun, _, number, act = heapq.heappop(bank.stories)
            yield bank.transact(begun, number, act)
        yield bank.honest(at)


class _Bank:
    def __init__(self, plan: Plan) -> None:
        self.stories: list[tuple[int, int, int, Act]] = []
        self._plan = plan
        self._draw = draws(plan.seed)
        self._customers: dict[int, Customer] = {}
        self._memories: dict[int, Memory] = {}
        self._written = 0
        self._told = 0
        share = plan.fraud_rate / (1 - plan.fraud_rate)  # frauds per honest transaction
        self._story_chance = share / MEAN_LENGTH
        self._pause_us = _SECOND * (1 + share) / plan.per_second
        self._minute_end = plan.start_us
        self._turn_to(plan.start_us)
        self._begin_in_the_middle()

    def pause(self) -> int:
        """Until the next honest transaction."""
        busy = RHYTHM[self._hour] if self._plan.rhythm else 1.0
        return int(self._pause_us * wait(self._draw) / busy)

    def honest(self, at: int) -> Message:
        """Somebody does something; now and then somebody else has chosen them as a victim."""
        self._turn_to(at)
        number = self._somebody()
        scene = self._scene(number)
        act = honest(scene)
        if self._draw() < self._story_chance:
            self._tell(scene, at)
        return self.transact(at, number, act)

    def _tell(self, scene: Scene, at: int) -> None:
        """A story begins; what of it lies before the first day is not told."""
        for begun, crime in STORIES[int(self._draw() * len(STORIES))](scene, at):
            if begun >= self._plan.start_us:
                self._told += 1
                heapq.heappush(self.stories, (begun, self._told, scene.person.number, crime))

    def _begin_in_the_middle(self) -> None:
        """Frauds go on when the first day begins, so that their share is right from the first message."""
        expected = self._story_chance * LONGEST_US / self._pause_us
        for _ in range(min(int(expected + self._draw()), _STORIES_AT_START)):
            self._tell(self._scene(self._somebody()), self._plan.start_us - int(self._draw() * LONGEST_US))

    def transact(self, at: int, number: int, act: Act) -> Message:
        """The bank counts, and writes the message."""
        self._turn_to(at)
        person, memory = self._customer(number), self._memories[number]
        if memory.place is None:
            distance, minutes = "null", "null"
        else:
            distance, minutes = f"{kilometres(memory.place, act.place):.2f}", str((at - memory.last_at) // _MINUTE)
        memory.place, memory.last_at = act.place, at
        _remember(memory, at, act.cents)
        counted = (
            f'"distance_from_last_txn_km": {distance}, "time_since_last_txn_min": {minutes}, '
            f'"transactions_last_24h": {len(memory.times) - memory.first}, "accumulated_amount_24h": {_reais(memory.total)}, '
            f'"unusual_time": {"false" if (self._hour - person.wake) % 24 < AWAKE_HOURS else "true"}'
        )
        return self._message(at, person, act, counted)

    def _message(self, at: int, person: Customer, act: Act, counted: str) -> Message:
        self._written += 1
        draw = self._draw
        seconds, micros = divmod(at - self._minute_start, _SECOND)
        identity = f"tx-{self._plan.seed}-{self._written:09d}"
        value = (
            f'{{"transaction_id": "{identity}", "customer_id": "{person.key.decode()}", "session_id": "ses-{int(draw() * 0x1000000000000):012x}", '
            f'"device_id": "{act.device}", "timestamp": "{self._minute}{seconds:02d}.{micros:06d}", "type": "{act.kind}", '
            f'"amount": {_reais(act.cents)}, "currency": "BRL", "channel": "{act.channel}", "ip_address": "{act.address}", '
            f'"geolocation_lat": {act.place.latitude:.6f}, "geolocation_lon": {act.place.longitude:.6f}, {act.merchant_words}, '
            f'{act.card_words}, {act.payee_words}, {counted}, "new_beneficiary": {"true" if act.new_payee else "false"}, {act.status_words}, '
            f"{self._verdict(act.story, draw())}}}"
        )
        return Message(person.key, value.encode(), identity, act.cents, at, act.story)

    def _verdict(self, story: str | None, luck: float) -> str:
        """A score that knows nothing, and no label; with `leak`, as the original wrote them, the answer itself."""
        if not self._plan.leak:
            return f'"fraud_score": {luck * (30 + luck * 30):.2f}, "is_fraud": null, "fraud_type": null'
        if story is None:
            return f'"fraud_score": {luck * 35:.2f}, "is_fraud": false, "fraud_type": null'
        return f'"fraud_score": {65 + luck * 35:.2f}, "is_fraud": true, "fraud_type": "{story}"'

    def _somebody(self) -> int:
        """A customer, more likely one who is awake; the first of them are up to twice as busy as the mean."""
        customers, draw = self._plan.customers, self._draw
        if customers < WAKE_CLASSES:
            return int(draw() * customers)
        luck = draw()
        kinds = _EVERY_CLASS if draw() < _OUT_OF_HOURS else _AWAKE[self._hour]
        return kinds[int(draw() * len(kinds))] + WAKE_CLASSES * int(luck * (0.5 + 0.5 * luck) * (customers // WAKE_CLASSES))

    def _scene(self, number: int) -> Scene:
        person = self._customer(number)
        memory = self._memories.get(number)
        if memory is None:
            memory = self._memories[number] = Memory()
        return Scene(person, memory, whereabouts(person, self._day), self._draw)

    def _customer(self, number: int) -> Customer:
        person = self._customers.get(number)
        if person is None:
            if len(self._customers) >= _KNOWN_CUSTOMERS:
                self._customers.clear()  # they can be made again from their numbers
            person = self._customers[number] = customer(number)
        return person

    def _turn_to(self, at: int) -> None:
        if at < self._minute_end:
            return
        self._minute_start = at - at % _MINUTE
        self._minute_end = self._minute_start + _MINUTE
        local = datetime.fromtimestamp(self._minute_start // _SECOND, ZONE)
        self._minute = local.isoformat()[:17]
        self._hour, self._day = local.hour, local.toordinal()


def _remember(memory: Memory, at: int, cents: int) -> None:
    """Adds to the last 24 hours, this transaction included, and lets go what is older."""
    times, amounts, first = memory.times, memory.cents, memory.first
    times.append(at)
    amounts.append(cents)
    memory.total += cents
    while times[first] <= at - _DAY:
        memory.total -= amounts[first]
        first += 1
    if first > _FORGOTTEN_TIMES:
        del times[:first], amounts[:first]
        first = 0
    memory.first = first


def _reais(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02d}"
