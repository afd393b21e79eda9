"""Who lives in the simulated bank: customers, merchants, payees. All belong to their numbers, not to a seed: they recur from run to run."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from comporta.simulator.chance import mix
from comporta.simulator.places import CITIES, CITY_BY_WEIGHT, Place, near

_MERCHANTS_PER_CITY = 64
_ONLINE_MERCHANTS = 160
FAVOURITES = 8
PAYEES = 6
WAKE_CLASSES = 48
AWAKE_HOURS = 16
_TRAVEL_DAYS = 5
_TRAVELLERS_OF_256 = 8

BANKS = ("Banco do Brasil", "Caixa", "Itaú", "Bradesco", "Santander", "Nubank", "Inter", "C6 Bank", "Sicredi", "BTG Pactual")
BRANDS = ("VISA", "VISA", "MASTERCARD", "MASTERCARD", "MASTERCARD", "ELO", "ELO", "HIPERCARD")

# When a customer gets up, by number modulo 48: most in the morning, three in 48 work at night.
WAKE_HOURS = (*(6 + number % 4 for number in range(WAKE_CLASSES - 3)), 16, 18, 20)


class Trade(NamedTuple):
    """A line of business: its MCC and risk, what a usual purchase costs, where it is made and how often (share)."""

    category: str
    mcc: str
    risk: str
    cents: int
    online: bool
    share: int
    name: str


TRADES = (
    Trade("SUPERMARKET", "5411", "low", 13_000, False, 22, "Supermercado"),
    Trade("RESTAURANT", "5812", "low", 6_500, False, 14, "Restaurante"),
    Trade("BAKERY", "5462", "low", 2_200, False, 10, "Padaria"),
    Trade("FUEL", "5541", "low", 15_000, False, 9, "Posto"),
    Trade("PHARMACY", "5912", "low", 6_000, False, 8, "Farmácia"),
    Trade("CLOTHING", "5651", "low", 17_000, False, 6, "Moda"),
    Trade("HEALTH", "8011", "low", 28_000, False, 4, "Clínica"),
    Trade("HOME", "5200", "low", 21_000, False, 4, "Casa e Obra"),
    Trade("BEAUTY", "7230", "low", 8_500, False, 4, "Salão"),
    Trade("ELECTRONICS", "5732", "medium", 70_000, False, 3, "Eletrônicos"),
    Trade("JEWELLERY", "5944", "high", 110_000, False, 1, "Joalheria"),
    Trade("FOOD_DELIVERY", "5812_delivery", "low", 5_500, True, 24, "Entrega"),
    Trade("TRANSPORT", "4121", "low", 2_600, True, 24, "Corridas"),
    Trade("STREAMING", "4899", "low", 3_900, True, 14, "Streaming"),
    Trade("MARKETPLACE", "5999", "medium", 14_000, True, 18, "Mercado Virtual"),
    Trade("EDUCATION", "8299", "low", 32_000, True, 6, "Cursos"),
    Trade("TRAVEL", "4722", "medium", 95_000, True, 4, "Viagens"),
    Trade("GAMES", "5816", "high", 4_500, True, 4, "Jogos"),
    Trade("GAMBLING", "7995", "high", 7_000, True, 2, "Apostas"),
    Trade("CRYPTO", "6051", "high", 45_000, True, 1, "Cripto"),
)
_NAMES = (
    "Boa Vista",
    "do Largo",
    "São Jorge",
    "Ipê",
    "Central",
    "da Praça",
    "Aurora",
    "Primavera",
    "Horizonte",
    "Nova Era",
    "Santa Clara",
    "do Porto",
)


class Merchant(NamedTuple):
    """A merchant; `place` is None online, where the buyer's place is the purchase's. `words` and `pix` are its parts of a message.

    `device` and `address` belong to its card terminal.
    """

    trade: Trade
    place: Place | None
    words: str
    pix: str
    device: str
    address: str


def device(bits: int) -> str:
    """A device's id; no id tells whose it is."""
    return f"dev-{bits & 0xFFFFFFFFFFFF:012x}"


def address(bits: int) -> str:
    """An address in the net; none tells who stands behind it."""
    return f"{177 + (bits & 15)}.{bits >> 4 & 0xFF}.{bits >> 12 & 0xFF}.{1 + (bits >> 20 & 0xFF) % 254}"


def bank(number: int) -> str:
    """The payee's bank."""
    return BANKS[mix(number, 22) % len(BANKS)]


def _merchant(number: int, trade: Trade, place: Place | None) -> Merchant:
    name = f"{trade.name} {_NAMES[mix(number, 11) % len(_NAMES)]}"
    words = _merchant_words(f"mer-{number:06d}", name, trade.category, trade.mcc, trade.risk)
    bits = mix(number, 12)
    key = f"**.{bits & 511:03d}.{bits >> 9 & 511:03d}/0001-**"
    pix = f'"pix_key_type": "CNPJ", "pix_key_destination": "{key}", "destination_bank": "{bank(number)}"'
    return Merchant(trade, place, words, pix, device(bits), address(bits >> 20))


def _merchant_words(identity: str, name: str, category: str, mcc: str, risk: str) -> str:
    texts = {"merchant_id": identity, "merchant_name": name, "merchant_category": category, "mcc_code": mcc, "mcc_risk_level": risk}
    return json.dumps(texts, ensure_ascii=False)[1:-1]


def _by_share(trades: list[Trade]) -> list[Trade]:
    return [trade for trade in trades for _ in range(trade.share)]


def _city_merchants(city: int) -> tuple[Merchant, ...]:
    shares = _by_share([trade for trade in TRADES if not trade.online])
    numbers = range(city * _MERCHANTS_PER_CITY, (city + 1) * _MERCHANTS_PER_CITY)
    return tuple(_merchant(number, shares[mix(number, 1) % len(shares)], near(CITIES[city], mix(number, 2))) for number in numbers)


def _online_merchants() -> tuple[Merchant, ...]:
    shares = _by_share([trade for trade in TRADES if trade.online])
    first = len(CITIES) * _MERCHANTS_PER_CITY
    return tuple(_merchant(number, shares[mix(number, 1) % len(shares)], None) for number in range(first, first + _ONLINE_MERCHANTS))


MERCHANTS = tuple(_city_merchants(city) for city in range(len(CITIES)))
ONLINE = _online_merchants()
RISKY_SHOPS = tuple(tuple(shop for shop in shops if shop.trade.risk != "low") or shops for shops in MERCHANTS)
RISKY_ONLINE = tuple(shop for shop in ONLINE if shop.trade.risk == "high")

# Who stands where the merchant stands, when no merchant is paid.
PERSON_WORDS = _merchant_words("p2p-transfer", "Transferência entre pessoas", "TRANSFER", "4829", "low")
BILL_WORDS = tuple(
    _merchant_words(f"bill-{number:03d}", name, "UTILITIES", "4900", "low")
    for number, name in enumerate(
        ("Companhia de Energia", "Companhia de Águas", "Condomínio", "Escola", "Plano de Saúde", "Internet Fibra")
    )
)
TOPUP_WORDS = tuple(
    _merchant_words(f"topup-{name.lower()}", f"Recarga {name}", "TELECOM", "4814", "low") for name in ("Azul", "Verde", "Lilás")
)
CASH_WORDS = _merchant_words("cash", "Saque", "CASH", "6011", "low")

NO_PAYEE = '"pix_key_type": null, "pix_key_destination": null, "destination_bank": null'


def pix_words(number: int) -> str:
    """The Pix key of a payee. Keys that are documents are masked, as a receipt shows them."""
    bits = mix(number, 21)
    kind, key = _KEYS[bits % 5]
    return f'"pix_key_type": "{kind}", "pix_key_destination": "{key(number, bits)}", "destination_bank": "{bank(number)}"'


def _random_key(_number: int, bits: int) -> str:
    return f"{bits >> 32:08x}-{bits >> 16 & 0xFFFF:04x}-4{bits >> 4 & 0xFFF:03x}-8{bits & 0xFFF:03x}-{bits >> 16:012x}"


_KEYS: tuple[tuple[str, Callable[[int, int], str]], ...] = (
    ("CPF", lambda _number, bits: f"***.{bits >> 8 & 511:03d}.{bits >> 20 & 511:03d}-**"),
    ("TELEFONE", lambda _number, bits: f"+55119{bits >> 8 & 0x3FFFFFF:08d}"),
    ("EMAIL", lambda number, _bits: f"pessoa{number}@exemplo.com.br"),
    ("ALEATORIA", _random_key),
    ("CNPJ", lambda _number, bits: f"**.{bits >> 8 & 511:03d}.{bits >> 20 & 511:03d}/0001-**"),
)


def account_words(number: int) -> str:
    """A payee who is reached by account and not by Pix key."""
    return f'"pix_key_type": null, "pix_key_destination": null, "destination_bank": "{bank(number)}"'


@dataclass(slots=True)
class Customer:
    """What a customer is; `bits` decide over what is too seldom asked to be kept."""

    number: int
    key: bytes
    city: int
    home: Place
    wake: int
    wealth: float
    profile: int
    device: str
    address: str
    credit_words: str
    debit_words: str
    bits: int


def customer(number: int) -> Customer:
    """The customer of that number, the same in every run."""
    one, two = mix(number, 3), mix(number, 4)
    city = CITY_BY_WEIGHT[(one & 0xFFFF) % len(CITY_BY_WEIGHT)]
    brand = BRANDS[one >> 48 & 7]
    card = f'"card_number_hash": "{mix(number, 5):016x}{mix(number, 6):016x}", "card_brand": "{brand}", "card_type": '
    return Customer(
        number=number,
        key=f"cust-{number:07d}".encode(),
        city=city,
        home=near(CITIES[city], one >> 16 & 0xFFFFFFFF),
        wake=WAKE_HOURS[number % WAKE_CLASSES],
        wealth=0.4 + (two & 0xFF) / 256 * 1.2 + (2.0 if two & 0xF00 == 0 else 0.0),
        profile=one >> 51 & 3,
        device=device(two >> 12),
        address=address(two >> 28),
        credit_words=card + '"CREDIT"',
        debit_words=card + '"DEBIT"',
        bits=one,
    )


def favourite(person: Customer, slot: int) -> Merchant:
    """One of the FAVOURITES shops at home that a customer goes to again and again."""
    return MERCHANTS[person.city][(person.bits >> 6 * slot) % _MERCHANTS_PER_CITY]


def payee(person: Customer, slot: int) -> int:
    """One of the PAYEES people that a customer pays again and again."""
    return mix(person.number, 30 + slot) % 10_000_000


def whereabouts(person: Customer, day: int) -> int:
    """The city where a customer is on that day: home, or, for one in thirty, another for five days."""
    bits = mix(person.number, 1000 + day // _TRAVEL_DAYS)
    if bits & 0xFF >= _TRAVELLERS_OF_256:
        return person.city
    return CITY_BY_WEIGHT[(bits >> 8) % len(CITY_BY_WEIGHT)]


@dataclass(slots=True)
class Memory:
    """What the bank has seen of a customer: the last place and time, the last 24 hours, payees beyond the usual ones."""

    last_at: int = -1
    place: Place | None = None
    times: list[int] = field(default_factory=list)
    cents: list[int] = field(default_factory=list)
    first: int = 0
    total: int = 0
    met: list[int] = field(default_factory=list)
