"""`comporta stop`: let the line finish its batch, then end it."""

from comporta.commands import shell
from comporta.commands.shell import Answer
from comporta.services import line_process, processes
from comporta.settings import Settings, load

# A batch takes seconds; one that waits for a database may take line.patience, and is safe to be cut off.
PATIENCE_SECONDS = 120.0


def stop(as_json: shell.Json = False) -> None:
    """Stop the line that was started from this home. Another home's or user's processes are never touched."""

    def work() -> Answer:
        settings = load()
        stopped = stop_line(settings, as_json=as_json)
        said = f"the line has stopped: {settings.line.name}" if stopped else f"no line was running: {settings.line.name}"
        return Answer({"stopped": [settings.line.name] if stopped else []}, lambda console: console.print(said))

    shell.answer(as_json, work)


def stop_line(settings: Settings, *, as_json: bool) -> bool:
    """True if it was running."""
    with shell.waiting("waiting for the running batch", as_json=as_json):
        return processes.stop(settings.home, line_process.name(settings), PATIENCE_SECONDS)
