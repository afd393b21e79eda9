"""Fetches every jar that Comporta may need into the cache, so that tests need not wait for one and later work needs no network."""

import sys

from comporta import settings
from comporta.commands import shell
from comporta.services import artifacts
from comporta.words.errors import ComportaError


def main() -> int:
    shell.begin(verbose=False)
    try:
        cache = settings.load().cache
        for group in artifacts.ROOTS:
            artifacts.ensure(cache, group)
    except ComportaError as error:
        return shell.refuse(error, as_json=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
