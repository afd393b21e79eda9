"""Numbers, money, spans of time and codes as people read them; what is unknown is a dash, never a zero."""

UNKNOWN = "\N{EN DASH}"

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_MILLION, _BILLION = 1_000_000, 1_000_000_000
_FULL_DIGITS = 10_000_000

_TYPES = {
    "PIX": "Pix",
    "CREDIT_CARD": "Credit card",
    "DEBIT_CARD": "Debit card",
    "BOLETO": "Boleto",
    "AUTO_DEBIT": "Automatic debit",
    "MOBILE_TOPUP": "Mobile top-up",
    "TED": "TED",
    "WITHDRAWAL": "Withdrawal",
    "DOC": "DOC",
}
_CHANNELS = {
    "MOBILE_APP": "mobile app",
    "WEB_BANKING": "web banking",
    "ATM": "ATM",
    "BRANCH": "branch",
    "WHATSAPP_PAY": "WhatsApp",
}
_ACTIONS = {"BLOCK": "block", "REVIEW": "review", "MONITOR": "monitor", "ACCEPT_LOG": "accept, log", "ACCEPT": "accept"}
_CURRENCY_SIGNS = {"BRL": "R$", "USD": "US$", "EUR": "€"}


def count(number: int | None) -> str:
    """Whole things: digits in groups of three, millions only where digits stop helping."""
    if number is None:
        return UNKNOWN
    if abs(number) < _FULL_DIGITS:
        return f"{number:,}"
    if abs(number) < _BILLION:
        return f"{number / _MILLION:,.2f} M"
    return f"{number / _BILLION:,.2f} bn"


def rate(per_second: float | None) -> str:
    """Three digits that mean something: 0.4, 6.2, 203, 12,400."""
    if per_second is None:
        return UNKNOWN
    if per_second < 0.05:  # noqa: PLR2004 - would read as nothing
        return "< 0.1" if per_second else "0"
    if round(per_second, 1) < 10:  # noqa: PLR2004 - below ten the decimal is what changes
        return f"{per_second:.1f}"
    return f"{float(f'{per_second:.3g}'):,.0f}"


def money(cents: int | None, sign: str = "R$") -> str:
    """An amount: with its cents while it is small, rounded when it is a total."""
    if cents is None:
        return UNKNOWN
    amount = cents / 100
    if abs(amount) < _MILLION:
        return f"{sign} {amount:,.2f}"
    if abs(amount) < _BILLION:
        return f"{sign} {amount / _MILLION:,.2f} M"
    return f"{sign} {amount / _BILLION:,.2f} bn"


def exact_money(cents: int, currency: str | None) -> str:
    """One payment's amount, to the cent, in its own currency."""
    if currency is None:
        return f"{cents / 100:,.2f} (currency unknown)"
    return f"{_CURRENCY_SIGNS.get(currency, currency)} {cents // 100:,}.{cents % 100:02d}"


def span(seconds: float | None) -> str:
    """How long: the two largest units at most."""
    if seconds is None:
        return UNKNOWN
    if seconds > 0 and round(seconds, 1) < 10:  # noqa: PLR2004 - below ten seconds the tenth is what changes
        return f"{seconds:.1f} s"
    whole = max(round(seconds), 0)
    for unit, length, smaller, part in (("d", _DAY, "h", _HOUR), ("h", _HOUR, "min", _MINUTE), ("min", _MINUTE, "s", 1)):
        if whole >= length:
            return f"{whole // length} {unit} {whole % length // part} {smaller}"
    return f"{whole} s"


def whole_span(seconds: float) -> str:
    """How long since trouble began: no tenths, they would only flicker."""
    return span(max(round(seconds), 0)) if seconds >= 10 else f"{max(int(seconds), 0)} s"  # noqa: PLR2004 - as span


def share(part: int, whole: int) -> str:
    """A part of a whole in percent; a part of nothing is unknown."""
    if whole == 0:
        return UNKNOWN
    percent = 100 * part / whole
    if 0 < percent < 0.1:  # noqa: PLR2004 - smaller would read as nothing
        return "< 0.1 %"
    return f"{percent:.1f} %"


def plural(number: int, one: str, many: str = "") -> str:
    """A number with its noun."""
    return f"{count(number)} {one if number == 1 else many or one + 's'}"


def kind(transaction_type: str) -> str:
    """A transaction's type as people call it."""
    return _TYPES.get(transaction_type, transaction_type)


def channel(code: str | None) -> str:
    """Where it was made; nothing when the message did not say."""
    return "" if code is None else _CHANNELS.get(code, code)


def action(code: str) -> str:
    """What the bank does about it."""
    return _ACTIONS.get(code, code)


def score(points: float) -> str:
    """A score without zeros that say nothing: 92, 87.5."""
    return f"{points:.2f}".rstrip("0").rstrip(".")
