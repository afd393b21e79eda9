"""Frauds as stories: somebody, a victim, a plan over minutes to hours. What betrays them are their traces; no field says so."""
# ruff: noqa: PLR2004 - a story is made of such figures; a name for each would say less than the line it stands in

from comporta.simulator.acts import APPROVED, LIMIT, NO_CARD, WRONG_CVV, Act, Scene, card_words
from comporta.simulator.chance import Draw
from comporta.simulator.places import CITIES, CITY_BY_WEIGHT, Place, near
from comporta.simulator.world import NO_PAYEE, PERSON_WORDS, RISKY_ONLINE, RISKY_SHOPS, address, device, pix_words

_SECOND = 1_000_000
_MINUTE = 60 * _SECOND
Story = list[tuple[int, Act]]


def account_takeover(scene: Scene, at: int) -> Story:
    """A strange device, each time behind another far address, empties the account by Pix to people who were never paid before."""
    draw = scene.draw
    device, _ = _strange_machine(draw)
    channel = "MOBILE_APP" if draw() < 0.6 else "WEB_BANKING"
    story: Story = []
    for _ in range(5 + int(draw() * 7)):
        at += 20 * _SECOND + int(draw() * 160 * _SECOND)
        cents = 90_000 + int(draw() * 880_000)
        _, address = _strange_machine(draw)
        payee = pix_words(int(draw() * 10_000_000))
        status = APPROVED if draw() < 0.85 else LIMIT
        act = Act("PIX", channel, cents, _elsewhere(scene), device, address, PERSON_WORDS, NO_CARD, payee, True, status, "ACCOUNT_TAKEOVER")
        story.append((at, act))
    return story


def cloned_card(scene: Scene, at: int) -> Story:
    """Two copies of the card buy dear things in two other states, while the customer goes on at home."""
    draw, person = scene.draw, scene.person
    cities = (_other_city(scene), _other_city(scene))
    story: Story = []
    at += 5 * _MINUTE
    for number in range(3 + int(draw() * 5)):
        at += _MINUTE + int(draw() * 12 * _MINUTE)
        city = cities[number % 2]
        shops = RISKY_SHOPS[city]
        shop = shops[int(draw() * len(shops))]
        cents = 80_000 + int(draw() * 820_000)
        entry = "MAGNETIC" if draw() < 0.4 else "MANUAL"
        words = card_words(person.credit_words, 1 + int(draw() * 10), entry, cvv=draw() < 0.4, secured=None)
        place = shop.place or near(CITIES[city], 0)
        status = APPROVED if draw() < 0.8 else LIMIT
        terminal = shop.device, shop.address
        act = Act("CREDIT_CARD", "MOBILE_APP", cents, place, *terminal, shop.words, words, NO_PAYEE, False, status, "CARD_CLONING")
        story.append((at, act))
    return story


def card_testing(scene: Scene, at: int) -> Story:
    """A stolen card is tried: many tiny payments within minutes, each from another address; when they pass, one large."""
    draw, person = scene.draw, scene.person
    shop = RISKY_ONLINE[int(draw() * len(RISKY_ONLINE))]
    story: Story = []
    tries = 8 + int(draw() * 7)
    for number in range(tries + 1):
        last = number == tries
        at += _MINUTE + int(draw() * 3 * _MINUTE) if last else 5 * _SECOND + int(draw() * 35 * _SECOND)
        cents = 250_000 + int(draw() * 600_000) if last else 50 + int(draw() * 450)
        passed = last or draw() < 0.6
        words = card_words(person.credit_words, 1, "MANUAL", cvv=passed, secured=False)
        status = APPROVED if passed else WRONG_CVV
        place, machine = _elsewhere(scene), _strange_machine(draw)
        act = Act("CREDIT_CARD", "WEB_BANKING", cents, place, *machine, shop.words, words, NO_PAYEE, False, status, "CARD_TESTING")
        story.append((at, act))
    return story


STORIES = (account_takeover, cloned_card, card_testing)
MEAN_LENGTH = (8 + 5 + 12) / 3
LONGEST_US = 2 * 60 * _MINUTE


def _other_city(scene: Scene) -> int:
    """Another state than the customer's: the next try, and the next, if chance first names their own."""
    start = int(scene.draw() * len(CITY_BY_WEIGHT))
    for step in range(len(CITY_BY_WEIGHT)):
        city = CITY_BY_WEIGHT[(start + step) % len(CITY_BY_WEIGHT)]
        if city not in (scene.city, scene.person.city):
            return city
    raise AssertionError("there are 27 states")


def _elsewhere(scene: Scene) -> Place:
    return near(CITIES[_other_city(scene)], int(scene.draw() * 0x100000000))


def _strange_machine(draw: Draw) -> tuple[str, str]:
    """A device and an address that the customer never had."""
    return device(int(draw() * 0x1000000000000)), address(int(draw() * 0x10000000))
