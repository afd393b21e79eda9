"""What every command has in common: answers, errors, exit codes, and the ends that are not ours to choose."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import structlog
import typer

from comporta import __version__
from comporta.commands import main, shell
from comporta.commands.shell import Answer
from comporta.words.errors import ComportaError, DataLoss, Exit, Setup, Unreachable

PROGRAM = [sys.executable, "-m", "comporta.commands.main"]


@pytest.fixture(autouse=True)
def empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home in which nothing runs, and no settings but that."""
    for name in [name for name in os.environ if name.startswith("COMPORTA_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("COMPORTA_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ending(as_json: bool, work: Callable[[], Answer]) -> int:
    with pytest.raises(typer.Exit) as caught:
        shell.answer(as_json, work)
    return caught.value.exit_code


def fine() -> Answer:
    return Answer({"a": 1}, lambda console: console.print("one"))


def raising(error: Exception) -> Callable[[], Answer]:
    def work() -> Answer:
        raise error

    return work


def test_people_get_words_and_programs_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert ending(as_json=False, work=fine) == 0
    assert capsys.readouterr().out == "one\n"
    assert ending(as_json=True, work=fine) == 0
    assert capsys.readouterr().out == '{"a": 1}\n'


@pytest.mark.parametrize("error", [Setup("x"), Unreachable("x"), DataLoss("x")])
def test_an_error_of_ours_is_one_line_and_its_exit_code(capsys: pytest.CaptureFixture[str], error: ComportaError) -> None:
    assert ending(as_json=False, work=raising(error)) == error.exit_code
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "comporta: x\n")


def test_an_error_is_a_document_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert ending(as_json=True, work=raising(Setup("no", where="there", do="this"))) == 3
    assert json.loads(capsys.readouterr().out) == {"error": {"code": 3, "message": "there: no; this"}}


def test_what_had_been_done_is_told_beside_the_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert ending(as_json=True, work=lambda: Answer({"rows": 7}, lambda _: None, error=DataLoss("gone"))) == 5
    assert json.loads(capsys.readouterr().out) == {"rows": 7, "error": {"code": 5, "message": "gone"}}


def test_the_answer_no_has_its_own_code() -> None:
    assert ending(as_json=True, work=lambda: Answer([], lambda _: None, Exit.ANSWER_IS_NO)) == 1


def test_a_mistake_of_ours_is_named_by_type_and_place_and_never_by_its_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert ending(as_json=False, work=raising(KeyError("4111111111111111"))) == 70
    said = capsys.readouterr().err
    assert "KeyError" in said
    assert "4111" not in said
    assert said.count("\n") == 1


def test_what_json_does_not_know_is_written_plainly(capsys: pytest.CaptureFixture[str]) -> None:
    document = {"at": datetime(2026, 1, 31, tzinfo=UTC), "for": timedelta(seconds=90), "raw": b"\x00\xff", "path": Path("é")}
    ending(as_json=True, work=lambda: Answer(document, lambda _: None))
    assert json.loads(capsys.readouterr().out) == {"at": "2026-01-31T00:00:00+00:00", "for": 90.0, "raw": "00ff", "path": "é"}


def test_a_line_for_a_terminal_has_no_control_codes_and_no_password() -> None:
    assert shell.one_line("a\nb\x1b[31m postgresql://me:s3cret@h/d") == "a b [31m postgresql://me:***@h/d"


def test_a_log_line_is_an_event_with_its_keys_and_hides_secrets(capsys: pytest.CaptureFixture[str]) -> None:
    shell.begin(verbose=False)
    structlog.get_logger().info("started", port=1, name="a b", password="s3cret", at="postgresql://me:s3cret@h/d", evil="x\ny")
    structlog.get_logger().debug("not shown")
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.split(" ", 1)[1] == 'info    started port=1 name="a b" password=*** at=postgresql://me:***@h/d evil="x\\ny"\n'


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["--help"]) == 0
    said = capsys.readouterr().out
    assert all(f"  {name} " in said for name in main.COMMANDS)


def test_without_arguments_help_is_the_answer_and_the_code_is_that_of_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run([]) == 2
    assert "usage: comporta" in capsys.readouterr().err
    assert main.run(["config"]) == 2
    assert "show" in capsys.readouterr().err


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["--version"]) == 0
    assert capsys.readouterr().out == f"comporta {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["stauts"], "did you mean status?"),
        (["satus", "--json"], "did you mean status?"),
        (["qqq"], "see: comporta --help"),
        (["status", "--jsn"], "did you mean --json?"),
        (["logs", "kafka", "--lines", "-1"], "from 0 to 100000"),
        (["logs"], "NAME"),
        (["status", "extra"], "extra"),
        (["config", "shw"], "shw"),
    ],
)
def test_a_wrong_command_line_is_refused_with_what_was_meant(capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    assert main.run(arguments) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.err.count("\n") == 1
    assert ("error" in captured.out) is ("--json" in arguments)


def test_every_command_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("up", "down", "status", "doctor", "logs", "config"):
        assert main.run([name, "--help"]) == 0
        assert f"Usage: comporta {name}" in capsys.readouterr().out


def test_a_wrong_setting_is_exit_code_three_in_every_form(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPORTA_KAFKA_PROT", "1")
    assert main.run(["status", "--json"]) == 3
    assert "COMPORTA_KAFKA_PORT" in json.loads(capsys.readouterr().out)["error"]["message"]


def test_status_of_an_empty_home_says_down_and_makes_nothing(capsys: pytest.CaptureFixture[str], empty_home: Path) -> None:
    assert main.run(["status", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {name: service["state"] for name, service in document["services"].items()} == dict.fromkeys(
        ("kafka", "registry", "postgres"), "down"
    )
    assert document["services"]["registry"]["url"] is None
    assert document["line"]["state"] == "down"
    assert not (empty_home / "home").exists()


def test_down_in_an_empty_home_stops_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["down", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["stopped"] == []


def test_config_show_hides_secrets_and_names_origins(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPORTA_POSTGRES_DSN", "postgresql://me:s3cret@h/d")
    for form in ([], ["--json"]):
        assert main.run(["config", "show", *form]) == 0
        said = capsys.readouterr()
        assert "s3cret" not in said.out + said.err
        assert "COMPORTA_POSTGRES_DSN" in said.out
    rows = {row["name"]: row for row in json.loads(said.out)["settings"]}
    assert rows["postgres.dsn"] == {"name": "postgres.dsn", "value": "(hidden)", "origin": "COMPORTA_POSTGRES_DSN"}
    assert rows["line.patience"] == {"name": "line.patience", "value": "600 s", "origin": "default"}


def test_logs_of_nobody_say_whose_there_are(capsys: pytest.CaptureFixture[str], empty_home: Path) -> None:
    assert main.run(["logs", "kafka"]) == 3
    assert "nothing so far" in capsys.readouterr().err
    (empty_home / "home" / "logs").mkdir(parents=True)
    (empty_home / "home" / "logs" / "dashboard.log").write_text("x\n", encoding="utf-8")
    assert main.run(["logs", "kafka"]) == 3
    assert "there are logs of: dashboard" in capsys.readouterr().err
    assert main.run(["logs", "../secrets"]) == 2


def test_logs_show_the_last_lines_without_control_codes(capsys: pytest.CaptureFixture[str], empty_home: Path) -> None:
    (empty_home / "home" / "logs" / "kafka").mkdir(parents=True)
    (empty_home / "home" / "logs" / "kafka" / "server.log").write_text("one\ntwo\x1b[2J\nthree\n", encoding="utf-8")
    assert main.run(["logs", "kafka", "--lines", "2"]) == 0
    assert capsys.readouterr().out == "two [2J\nthree\n"
    assert main.run(["logs", "kafka", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["lines"] == ["one", "two [2J", "three"]
    assert main.run(["logs", "kafka", "--json", "--follow"]) == 2


def test_logs_follow_what_is_written_and_a_log_that_rolls_until_control_c(empty_home: Path) -> None:
    log = empty_home / "home" / "logs" / "kafka" / "server.log"
    log.parent.mkdir(parents=True)
    log.write_text("first\n", encoding="utf-8")
    with subprocess.Popen([*PROGRAM, "logs", "kafka", "--follow"], stdout=subprocess.PIPE, text=True) as process:
        watchdog = threading.Timer(30, process.kill)
        watchdog.start()
        assert process.stdout is not None
        assert process.stdout.readline() == "first\n"
        with log.open("a", encoding="utf-8") as file:
            file.write("second\n")
        assert process.stdout.readline() == "second\n"
        log.rename(log.with_name("server.1.log"))
        log.write_text("third\n", encoding="utf-8")
        assert process.stdout.readline() == "third\n"
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
        watchdog.cancel()


def test_a_reader_that_goes_away_does_no_harm(empty_home: Path) -> None:
    log = empty_home / "home" / "logs" / "kafka" / "server.log"
    log.parent.mkdir(parents=True)
    log.write_text("a long line that fills the pipe\n" * 50_000, encoding="utf-8")
    command = f"{' '.join(PROGRAM)} logs kafka --lines 50000 | head -1; echo ${{PIPESTATUS[0]}}"
    ran = subprocess.run(["/bin/bash", "-c", command], capture_output=True, text=True, check=False)
    assert ran.stdout.splitlines() == ["a long line that fills the pipe", "0"]
    assert ran.stderr == ""


def test_closed_streams_do_no_harm() -> None:
    command = f"{' '.join(PROGRAM)} status --json <&- >&- 2>&-"
    assert subprocess.run(["/bin/bash", "-c", command], check=False).returncode == 0


def test_help_comes_quickly() -> None:
    """Not a measurement: help must not import Spark, Kafka's client or the web framework."""
    script = "import sys; from comporta.commands import main; main.run(['--help']); print(sorted(sys.modules), file=sys.stderr)"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not [name for name in ("pyspark", "confluent_kafka", "psycopg", "nicegui", "polars", "pydantic") if f"'{name}'" in ran.stderr]
