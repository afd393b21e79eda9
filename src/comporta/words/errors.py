"""What can go wrong, as values: each error says what, where and what to do in one line, and carries its exit code."""

from enum import IntEnum


class Exit(IntEnum):
    """The exit codes of every command; a supervisor restarts only UNREACHABLE, BUG and PROCESS_DIED."""

    FINE = 0
    ANSWER_IS_NO = 1
    USAGE = 2
    SETUP = 3
    UNREACHABLE = 4
    DATA_LOSS = 5
    ANOTHER_OWNER = 6
    DAMAGED_STATE = 7
    BUG = 70
    PROCESS_DIED = 71


class ComportaError(Exception):
    """An error with an answer. `what` went wrong, `where`, and what to `do` about it."""

    exit_code = Exit.BUG

    def __init__(self, what: str, *, where: str = "", do: str = "") -> None:
        self.what, self.where, self.do = what, where, do
        super().__init__(what)

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        remedy = f"; {self.do}" if self.do else ""
        return f"{place}{self.what}{remedy}"

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.what, self.where, self.do))


def _rebuild(kind: type[ComportaError], what: str, where: str, do: str) -> ComportaError:
    return kind(what, where=where, do=do)


class AnswerIsNo(ComportaError):
    """The command ran, and the answer is no."""

    exit_code = Exit.ANSWER_IS_NO


class Usage(ComportaError):
    """The command line was wrong."""

    exit_code = Exit.USAGE


class Setup(ComportaError):
    """A setting, a schema or a version is wrong: nothing was read or written."""

    exit_code = Exit.SETUP


class Unreachable(ComportaError):
    """A dependency cannot be reached now; the one kind of error that patience may heal."""

    exit_code = Exit.UNREACHABLE


class DataLoss(ComportaError):
    """The log no longer holds what the ledger has not yet read, or is not the log that it was."""

    exit_code = Exit.DATA_LOSS


class AnotherOwner(ComportaError):
    """Another process owns this line."""

    exit_code = Exit.ANOTHER_OWNER


class DamagedState(ComportaError):
    """What is stored contradicts itself."""

    exit_code = Exit.DAMAGED_STATE


class Bug(ComportaError):
    """Our mistake."""

    exit_code = Exit.BUG


class ProcessDied(ComportaError):
    """A process of ours died under us: memory or a signal."""

    exit_code = Exit.PROCESS_DIED
