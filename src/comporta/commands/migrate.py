"""`comporta migrate`: bring an empty or older database to this version."""

from rich.console import Console
from rich.text import Text

from comporta.commands import shell
from comporta.commands.shell import Answer
from comporta.postgres import migrate as migrations
from comporta.services.addresses import postgres_dsns
from comporta.settings import load


def migrate(as_json: shell.Json = False) -> None:
    """Bring an empty or older database to this version, and grant again what writer and reader need. Stop the line first."""
    shell.answer(as_json, bring)


def bring() -> Answer:
    """The versions before and after."""
    done = migrations.migrate(*postgres_dsns(load()))

    def say(console: Console) -> None:
        sentence = (
            f"The database had version {done.before} and has {done.after} now."
            if done.before != done.after
            else f"The database has version {done.after} already."
        )
        console.print(Text(sentence))

    return Answer({"from": done.before, "to": done.after}, say)
