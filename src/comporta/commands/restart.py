"""`comporta restart`: stop the line after its batch and start it again in the background."""

from comporta.commands import shell
from comporta.commands.shell import Answer
from comporta.commands.stop import stop_line
from comporta.services import line_process
from comporta.settings import load


def restart(as_json: shell.Json = False) -> None:
    """Stop the line after its batch, start it again in the background and wait until it owns the topic."""

    def work() -> Answer:
        settings = load()
        stopped = stop_line(settings, as_json=as_json)
        with shell.waiting("starting the line", as_json=as_json):
            process = line_process.start(settings)
        said = f"line {settings.line.name} runs as pid {process.pid}; see: comporta logs line"
        return Answer({"stopped": stopped, "pid": process.pid}, lambda console: console.print(said))

    shell.answer(as_json, work)
