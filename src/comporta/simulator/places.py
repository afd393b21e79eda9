"""Where the simulated bank's customers live: the capitals of the 27 states."""

from math import sqrt  # correctly rounded everywhere, as pow is not
from typing import NamedTuple

KM_PER_LATITUDE = 110.57


class City(NamedTuple):
    """A state's capital; `weight` is the state's share of the people, `km_per_longitude` the length of a degree there."""

    state: str
    name: str
    latitude: float
    longitude: float
    km_per_longitude: float
    weight: int


CITIES = (
    City("SP", "São Paulo", -23.55, -46.63, 102.0, 444),
    City("MG", "Belo Horizonte", -19.92, -43.94, 104.7, 205),
    City("RJ", "Rio de Janeiro", -22.91, -43.17, 102.5, 161),
    City("BA", "Salvador", -12.97, -38.50, 108.5, 141),
    City("PR", "Curitiba", -25.43, -49.27, 100.5, 114),
    City("RS", "Porto Alegre", -30.03, -51.23, 96.4, 109),
    City("PE", "Recife", -8.05, -34.88, 110.2, 91),
    City("CE", "Fortaleza", -3.73, -38.53, 111.1, 88),
    City("PA", "Belém", -1.46, -48.50, 111.3, 81),
    City("SC", "Florianópolis", -27.60, -48.55, 98.7, 76),
    City("GO", "Goiânia", -16.69, -49.26, 106.6, 71),
    City("MA", "São Luís", -2.53, -44.30, 111.2, 68),
    City("PB", "João Pessoa", -7.12, -34.86, 110.5, 40),
    City("AM", "Manaus", -3.12, -60.02, 111.2, 39),
    City("ES", "Vitória", -20.32, -40.34, 104.4, 38),
    City("MT", "Cuiabá", -15.60, -56.10, 107.2, 37),
    City("RN", "Natal", -5.79, -35.21, 110.8, 33),
    City("PI", "Teresina", -5.09, -42.80, 110.9, 33),
    City("AL", "Maceió", -9.67, -35.74, 109.7, 31),
    City("DF", "Brasília", -15.79, -47.88, 107.1, 28),
    City("MS", "Campo Grande", -20.44, -54.65, 104.3, 28),
    City("SE", "Aracaju", -10.91, -37.07, 109.3, 22),
    City("RO", "Porto Velho", -8.76, -63.90, 110.0, 16),
    City("TO", "Palmas", -10.18, -48.33, 109.6, 15),
    City("AC", "Rio Branco", -9.97, -67.81, 109.6, 8),
    City("AP", "Macapá", 0.03, -51.07, 111.3, 7),
    City("RR", "Boa Vista", 2.82, -60.67, 111.2, 6),
)

# One entry per unit of weight: an index drawn evenly finds cities as often as people live there.
CITY_BY_WEIGHT = tuple(number for number, city in enumerate(CITIES) for _ in range(city.weight))


class Place(NamedTuple):
    """A point, and the length of a degree of longitude there."""

    latitude: float
    longitude: float
    km_per_longitude: float


def near(city: City, bits: int, spread: float = 0.1) -> Place:
    """A point within `spread` degrees of the city's centre, chosen by 32 bits."""
    north = (bits & 0xFFFF) / 32768 - 1
    east = (bits >> 16 & 0xFFFF) / 32768 - 1
    return Place(city.latitude + spread * north, city.longitude + spread * east, city.km_per_longitude)


def kilometres(one: Place, other: Place) -> float:
    """Distance over a flat sheet laid between the two: right to a few per cent inside the country, and the same on every machine."""
    north = (one.latitude - other.latitude) * KM_PER_LATITUDE
    east = (one.longitude - other.longitude) * (one.km_per_longitude + other.km_per_longitude) / 2
    return sqrt(north * north + east * east)
