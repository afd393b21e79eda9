"""`comporta down`: what this home started is stopped; what the settings point at elsewhere is not touched."""

from typing import Annotated

import typer
from rich.console import Console

from comporta.commands import shell
from comporta.commands.shell import Answer
from comporta.services import embedded
from comporta.settings import load


def down(
    delete_data: Annotated[bool, typer.Option("--delete-data", help="Also delete what the embedded services stored.")] = False,
    as_json: shell.Json = False,
) -> None:
    """Stop the embedded Kafka and PostgreSQL, after the line and the page of this home that use them."""

    def work() -> Answer:
        settings = load()
        with shell.waiting("stopping", as_json=as_json):
            stopped = embedded.down(settings, delete_data=delete_data)

        def say(console: Console) -> None:
            console.print(f"stopped {' and '.join(stopped)}" if stopped else "nothing was running")
            if delete_data:
                console.print("their data is deleted")

        return Answer({"stopped": list(stopped), "deleted_data": delete_data}, say)

    shell.answer(as_json, work)
