"""Another process that owns the line: it commits one batch, and a second one in which it kills or freezes itself. Run by tests.

Arguments: crash point, signal, first offset of the second batch. The DSN comes on stdin. What became of the second batch goes to stdout.
"""

import os
import signal
import sys

from comporta.postgres import ownership
from comporta.postgres.commit import Committer
from comporta.words.errors import ComportaError
from support.batches import TOPIC_ID, plain


def main() -> None:
    """Own, commit, die or freeze."""
    point, how = sys.argv[1], signal.Signals[sys.argv[2]]
    dsn = sys.stdin.readline().strip()
    armed = False

    def hook(reached: str) -> None:
        if armed and reached == point:
            os.kill(os.getpid(), how)

    with ownership.take(dsn, TOPIC_ID, "transactions", "line") as owner, Committer(dsn, hook=hook) as committer:
        owner = ownership.start_line(owner, {0: 0}, [])  # noqa: PLW2901 - the same ownership, with its ledger
        committer.commit(owner, plain(0, 10))
        armed = True
        try:
            committer.commit(owner, plain(10, 20, number=1))
            outcome = "committed"
        except ComportaError as error:
            outcome = type(error).__name__
            try:
                committer.commit(owner, plain(10, 20, number=1))
            except ComportaError as second:
                outcome += f" {type(second).__name__}"
        sys.stdout.write(f"{outcome} {owner.still_held()}\n")


if __name__ == "__main__":
    main()
