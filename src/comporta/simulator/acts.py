"""What customers honestly do: one function per kind of transaction. An act is a transaction before the bank has counted anything."""
# ruff: noqa: PLR2004 - a life is made of such figures; a name for each would say less than the line it stands in

from collections.abc import Callable
from typing import NamedTuple

from comporta.simulator.chance import Draw, mix
from comporta.simulator.places import CITIES, Place, near
from comporta.simulator.world import (
    BILL_WORDS,
    CASH_WORDS,
    MERCHANTS,
    NO_PAYEE,
    ONLINE,
    PAYEES,
    PERSON_WORDS,
    TOPUP_WORDS,
    Customer,
    Memory,
    Merchant,
    account_words,
    address,
    device,
    favourite,
    payee,
    pix_words,
)

APPROVED = '"status": "APPROVED", "refusal_reason": null'
PENDING = '"status": "PENDING", "refusal_reason": null'
NO_FUNDS = '"status": "DECLINED", "refusal_reason": "INSUFFICIENT_FUNDS"'
LIMIT = '"status": "DECLINED", "refusal_reason": "LIMIT_EXCEEDED"'
WRONG_CVV = '"status": "DECLINED", "refusal_reason": "INVALID_CVV"'
BLOCKED = '"status": "BLOCKED", "refusal_reason": "SECURITY_POLICY"'
_ENDS = (APPROVED,) * 192 + (NO_FUNDS,) * 3 + (LIMIT,) * 2 + (PENDING,) * 2 + (BLOCKED,)

NO_CARD = (
    '"card_number_hash": null, "card_brand": null, "card_type": null, "installments": null, "card_entry": null, '
    '"cvv_validated": null, "auth_3ds": null'
)
_APP, _WEB, _ATM, _BRANCH, _CHAT = "MOBILE_APP", "WEB_BANKING", "ATM", "BRANCH", "WHATSAPP_PAY"
_TOPUPS = (1_500, 2_000, 3_000, 5_000)


class Act(NamedTuple):
    """One transaction as it is begun. The `…_words` are parts of the message, ready made."""

    kind: str
    channel: str
    cents: int
    place: Place
    device: str
    address: str
    merchant_words: str
    card_words: str
    payee_words: str
    new_payee: bool
    status_words: str
    story: str | None = None


class Scene(NamedTuple):
    """Who acts, what the bank remembers of them, in which city they are, and where chance comes from."""

    person: Customer
    memory: Memory
    city: int
    draw: Draw


def honest(scene: Scene) -> Act:
    """One thing a customer does on an ordinary day."""
    return _HABITS[scene.person.profile][int(scene.draw() * 100)](scene)


def card_words(card: str, installments: int | None, entry: str | None, *, cvv: bool | None, secured: bool | None) -> str:
    """The card's part of a message."""
    times = "null" if installments is None else str(installments)
    how = "null" if entry is None else f'"{entry}"'
    return f'{card}, "installments": {times}, "card_entry": {how}, "cvv_validated": {_json(cvv)}, "auth_3ds": {_json(secured)}'


def _json(flag: bool | None) -> str:
    return "null" if flag is None else "true" if flag else "false"


def _cents(draw: Draw, usual: int, wealth: float) -> int:
    """Most amounts lie around the usual one, a few at four times of it."""
    luck = draw()
    tail = luck * luck
    tail *= tail
    tail *= tail
    return 100 + int(usual * wealth * (0.3 + 0.9 * luck + 3 * tail))


def _around(scene: Scene) -> Place:
    """Somewhere near home, or in the city of the journey."""
    spread, bits = (0.02, int(scene.draw() * 0x100000000))
    if scene.city == scene.person.city:
        home = scene.person.home
        return Place(home.latitude + ((bits & 0xFFFF) / 32768 - 1) * spread, home.longitude + ((bits >> 16) / 32768 - 1) * spread, home[2])
    return near(CITIES[scene.city], bits)


def _end(draw: Draw) -> str:
    return _ENDS[int(draw() * 200)]


def _shop(scene: Scene) -> Merchant:
    """A favourite shop most of the time; away from home, any."""
    luck = scene.draw()
    if scene.city == scene.person.city and luck < 0.88:
        return favourite(scene.person, int(luck * luck * 10.33))
    shops = MERCHANTS[scene.city]
    return shops[int(scene.draw() * len(shops))]


def _in_shop(scene: Scene, kind: str, card: str) -> Act:
    person, draw, shop = scene.person, scene.draw, _shop(scene)
    luck = draw()
    entry = "CONTACTLESS" if luck < 0.55 else "CHIP" if luck < 0.97 else "MAGNETIC" if luck < 0.985 else "MANUAL"
    cents = _cents(draw, shop.trade.cents, person.wealth)
    times = None if kind == "DEBIT_CARD" else 1 if cents < 30_000 else 1 + int(draw() * 10)
    place = shop.place or person.home
    words = card_words(card, times, entry, cvv=True if luck < 0.97 else luck < 0.99, secured=None)
    # Held to the phone, the card is paid by the phone; else the terminal of the shop speaks.
    by_phone = entry == "CONTACTLESS"
    machine = (person.device, person.address) if by_phone else (shop.device, shop.address)
    return Act(kind, _APP, cents, place, *machine, shop.words, words, NO_PAYEE, False, _end(draw))


def _credit(scene: Scene) -> Act:
    if scene.draw() < 0.55:
        return _in_shop(scene, "CREDIT_CARD", scene.person.credit_words)
    person, draw = scene.person, scene.draw
    shop = ONLINE[int(draw() * len(ONLINE))]
    cents = _cents(draw, shop.trade.cents, person.wealth)
    luck = draw()
    words = card_words(
        person.credit_words,
        1 if cents < 30_000 else 1 + int(draw() * 12),
        "MANUAL" if luck < 0.06 else None,
        cvv=luck < 0.97,
        secured=luck < 0.8,
    )
    channel = _APP if luck < 0.7 else _WEB
    return Act("CREDIT_CARD", channel, cents, _around(scene), person.device, person.address, shop.words, words, NO_PAYEE, False, _end(draw))


def _debit(scene: Scene) -> Act:
    return _in_shop(scene, "DEBIT_CARD", scene.person.debit_words)


def _pix(scene: Scene) -> Act:
    person, draw = scene.person, scene.draw
    luck = draw()
    channel = _APP if luck < 0.8 else _WEB if luck < 0.9 else _CHAT
    if draw() < 0.35:
        shop = _shop(scene)
        cents, words, key, new = _cents(draw, shop.trade.cents, person.wealth), shop.words, shop.pix, False
    else:
        number, new = _payee(scene, 0.05)
        usual = 150_000 if luck < 0.02 else 11_000  # now and then the rent, a car, a loan given back
        cents, words, key = _cents(draw, usual, person.wealth), PERSON_WORDS, pix_words(number)
    return Act("PIX", channel, cents, _around(scene), person.device, person.address, words, NO_CARD, key, new, _end(draw))


def _payee(scene: Scene, unknown: float) -> tuple[int, bool]:
    """Somebody to pay, and whether for the first time."""
    draw, memory = scene.draw, scene.memory
    if draw() < unknown:
        number = int(draw() * 10_000_000)
        memory.met.append(number)
        del memory.met[:-4]
        return number, True
    luck = draw()
    choice = int(luck * luck * (PAYEES + len(memory.met)))  # some are paid more often than others
    return (payee(scene.person, choice) if choice < PAYEES else memory.met[choice - PAYEES]), False


def _wire(kind: str, usual: int) -> Callable[[Scene], Act]:
    def act(scene: Scene) -> Act:
        person, draw = scene.person, scene.draw
        luck = draw()
        channel = _WEB if luck < 0.45 else _APP if luck < 0.85 else _BRANCH
        number, new = _payee(scene, 0.04)
        cents = _cents(draw, usual, person.wealth)
        words = account_words(number)
        return Act(kind, channel, cents, _around(scene), person.device, person.address, PERSON_WORDS, NO_CARD, words, new, _end(draw))

    return act


def _bill(kind: str, channels: tuple[str, ...]) -> Callable[[Scene], Act]:
    def act(scene: Scene) -> Act:
        person, draw = scene.person, scene.draw
        channel = channels[int(draw() * len(channels))]
        words = BILL_WORDS[int(draw() * len(BILL_WORDS))]
        cents = _cents(draw, 19_000, person.wealth)
        return Act(kind, channel, cents, _around(scene), person.device, person.address, words, NO_CARD, NO_PAYEE, False, _end(draw))

    return act


def _topup(scene: Scene) -> Act:
    person, draw = scene.person, scene.draw
    words = TOPUP_WORDS[person.number % len(TOPUP_WORDS)]
    cents = _TOPUPS[int(draw() * len(_TOPUPS))]
    return Act("MOBILE_TOPUP", _APP, cents, _around(scene), person.device, person.address, words, NO_CARD, NO_PAYEE, False, _end(draw))


def _withdrawal(scene: Scene) -> Act:
    person, draw = scene.person, scene.draw
    machine = int(draw() * 32)
    place = near(CITIES[scene.city], machine * 0x08040201)
    channel = _ATM if draw() < 0.88 else _BRANCH
    bits = mix(scene.city * 32 + machine, 13)
    cents = 1_000 * (1 + _cents(draw, 20_000, person.wealth) // 1_000)
    words = card_words(person.debit_words, None, "CHIP", cvv=None, secured=None)
    return Act("WITHDRAWAL", channel, cents, place, device(bits), address(bits >> 20), CASH_WORDS, words, NO_PAYEE, False, _end(draw))


_boleto = _bill("BOLETO", (_APP, _APP, _APP, _WEB, _WEB, _BRANCH))
_auto_debit = _bill("AUTO_DEBIT", (_WEB, _APP))
_ted = _wire("TED", 120_000)
_doc = _wire("DOC", 60_000)


def _habit(**parts: int) -> tuple[Callable[[Scene], Act], ...]:
    makers = {
        "pix": _pix,
        "credit": _credit,
        "debit": _debit,
        "boleto": _boleto,
        "auto": _auto_debit,
        "topup": _topup,
        "ted": _ted,
        "cash": _withdrawal,
        "doc": _doc,
    }
    return tuple(makers[name] for name, part in parts.items() for _ in range(part))


# In a hundred transactions: who lives by the phone, who by the card, who by the counter, who runs a small business.
_HABITS = (
    _habit(pix=56, credit=21, debit=10, boleto=4, auto=3, topup=4, ted=1, cash=1),
    _habit(pix=34, credit=36, debit=16, boleto=5, auto=4, topup=2, ted=1, cash=2),
    _habit(pix=24, credit=12, debit=26, boleto=12, auto=6, topup=5, ted=2, cash=12, doc=1),
    _habit(pix=48, credit=17, debit=9, boleto=12, auto=4, topup=1, ted=7, cash=1, doc=1),
)
