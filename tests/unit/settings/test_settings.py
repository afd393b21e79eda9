"""Settings: the file, the environment over it, and an answer to everything that is wrong."""

from datetime import timedelta
from pathlib import Path

import pytest

from comporta.settings import KEYS, VARIABLES, load
from comporta.words.errors import ComportaError, Exit, Setup


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refusal(environ: dict[str, str]) -> ComportaError:
    with pytest.raises(ComportaError) as caught:
        load(environ=environ)
    return caught.value


def test_without_file_and_variables_everything_is_as_the_interface_says(here: Path) -> None:
    settings = load(environ={})
    assert settings.home == here / ".comporta"
    assert (settings.kafka.topic, settings.kafka.partitions, settings.kafka.port) == ("transactions", 4, 9092)
    assert (settings.kafka.retention_bytes, settings.kafka.retention_hours, settings.kafka.segment_bytes) == (10737418240, -1, 1073741824)
    assert (settings.line.name, settings.line.pack, settings.line.dedupe_days, settings.line.heap) == ("line", "classic-v1", 14, "1g")
    assert (settings.line.patience, settings.line.trigger, settings.line.start) == (timedelta(minutes=10), timedelta(0), "earliest")
    assert settings.line.max_offsets is None
    assert set(settings.origins.values()) == {"default"}


def test_the_environment_stands_over_the_file_and_both_are_named_as_origin(here: Path) -> None:
    (here / "comporta.toml").write_text('[kafka]\ntopic = "from-file"\npartitions = 8\n[line]\npatience = "30 s"\n', encoding="utf-8")
    settings = load(environ={"COMPORTA_KAFKA_TOPIC": "from-environment"})
    assert (settings.kafka.topic, settings.kafka.partitions, settings.line.patience) == ("from-environment", 8, timedelta(seconds=30))
    assert settings.origins["kafka.topic"] == "COMPORTA_KAFKA_TOPIC"
    assert settings.origins["kafka.partitions"] == "comporta.toml"
    assert settings.origins["kafka.port"] == "default"


def test_settings_cannot_be_changed_once_read() -> None:
    settings = load(environ={})
    with pytest.raises(ValueError, match="frozen"):
        settings.kafka.topic = "other"


def test_another_file_can_be_named_and_its_relative_folder_is_beside_it(here: Path) -> None:
    (here / "elsewhere").mkdir()
    (here / "elsewhere" / "mine.toml").write_text('[line]\ncheckpoint = "scratch"\n', encoding="utf-8")
    settings = load(environ={"COMPORTA_CONFIG": "elsewhere/mine.toml"})
    assert settings.line.checkpoint == here / "elsewhere" / "scratch"
    assert settings.origins["line.checkpoint"] == "mine.toml"


def test_a_named_file_that_is_not_there_is_refused(here: Path) -> None:
    assert "no such file" in str(refusal({"COMPORTA_CONFIG": str(here / "none.toml")}))


def test_a_file_that_is_no_toml_is_refused_with_its_line(here: Path) -> None:
    (here / "comporta.toml").write_text("[kafka]\ntopic = \n", encoding="utf-8")
    assert "comporta.toml:2: " in str(refusal({}))


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ('[kafka]\ntopik = "x"\n', "did you mean kafka.topic?"),
        ('[kafak]\ntopic = "x"\n', "did you mean kafka?"),
        ("kafka = 5\n", "kafka is a section"),
        ('[line]\nstartingOffsets = "earliest"\n', "see line.start"),
        ("[spark]\nfailOnDataLoss = false\n", "see line.start"),
    ],
)
def test_an_unknown_key_of_the_file_is_refused_with_the_nearest_name(here: Path, text: str, hint: str) -> None:
    (here / "comporta.toml").write_text(text, encoding="utf-8")
    error = refusal({})
    assert hint in str(error)
    assert error.exit_code == Exit.SETUP


def test_an_unknown_variable_is_refused_with_the_nearest_name() -> None:
    assert "did you mean COMPORTA_KAFKA_PORT?" in str(refusal({"COMPORTA_KAFKA_PROT": "1"}))


def test_places_and_the_switches_of_tests_are_no_settings(here: Path) -> None:
    environ = {"COMPORTA_HOME": "h", "COMPORTA_CACHE": "c", "COMPORTA_TEST_MODE": "1", "COMPORTA_TEST_CRASH": "x", "OTHER": "1"}
    assert load(environ=environ).home == here / "h"


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("COMPORTA_KAFKA_PORT", "99999", "kafka.port input should be less than or equal to 65535"),
        ("COMPORTA_KAFKA_PORT", "many", "kafka.port"),
        ("COMPORTA_KAFKA_PARTITIONS", "0", "kafka.partitions"),
        ("COMPORTA_KAFKA_TOPIC", "a,b", "the name of one topic"),
        ("COMPORTA_KAFKA_TOPIC", "trans.*", "the name of one topic"),
        ("COMPORTA_KAFKA_TOPIC", "__consumer_offsets", "internal"),
        ("COMPORTA_KAFKA_TRANSACTIONAL", "true", "not supported yet"),
        ("COMPORTA_KAFKA_SEGMENT_BYTES", "12", "kafka.segment_bytes"),
        ("COMPORTA_LINE_PATIENCE", "10", "units"),
        ("COMPORTA_LINE_PATIENCE", "10 parsecs", "units"),
        ("COMPORTA_LINE_TRIGGER", "-1 s", "units"),
        ("COMPORTA_LINE_HEAP", "1", "unit m or g"),
        ("COMPORTA_LINE_HEAP", "0g", "unit m or g"),
        ("COMPORTA_LINE_MAX_OFFSETS", "0", "line.max_offsets"),
        ("COMPORTA_LINE_DEDUPE_DAYS", "0", "line.dedupe_days"),
        ("COMPORTA_LINE_NAME", "../x", "line.name"),
        ("COMPORTA_LINE_START", "yesterday", "earliest, latest or a time"),
        ("COMPORTA_LINE_START", "2026-01-31T00:00:00", "earliest, latest or a time with its offset"),
        ("COMPORTA_LINE_CHECKPOINT", "s3a://bucket/x", "must be a folder"),
    ],
)
def test_a_value_out_of_its_range_is_refused_and_its_origin_named(variable: str, value: str, said: str) -> None:
    error = refusal({variable: value})
    assert said in str(error)
    assert str(error).startswith(f"{variable}: ")
    assert error.exit_code == Exit.SETUP


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("localhost", "lacks the port"),
        ("host:99999", "port"),
        ("host:http", "port"),
        ("http://host:9092", "no URL"),
        ("user:pass@host:9092", "without credentials"),
        ("", "lacks the port"),
    ],
)
def test_an_address_of_kafka_that_cannot_be_is_a_matter_of_usage(value: str, said: str) -> None:
    error = refusal({"COMPORTA_KAFKA_BOOTSTRAP": value})
    assert said in str(error)
    assert error.exit_code == Exit.USAGE
    assert "pass" not in str(error)


def test_several_brokers_may_be_named() -> None:
    assert load(environ={"COMPORTA_KAFKA_BOOTSTRAP": "a:9092,[::1]:9093"}).kafka.bootstrap == "a:9092,[::1]:9093"


def test_a_time_with_its_offset_may_begin_a_line(here: Path) -> None:
    (here / "comporta.toml").write_text("[line]\nstart = 2026-01-31T00:00:00-03:00\n", encoding="utf-8")
    assert load(environ={}).line.start == "2026-01-31T00:00:00-03:00"


@pytest.mark.parametrize("dsn", ["postgresql://me:s3cret@host/db", "host=h user=me password=s3cret", "host=h password = 's3 cret'"])
def test_a_password_does_not_belong_into_the_file(here: Path, dsn: str) -> None:
    (here / "comporta.toml").write_text(f'[postgres]\ndsn = "{dsn}"\n', encoding="utf-8")
    error = refusal({})
    assert "COMPORTA_POSTGRES_DSN" in str(error)
    assert "cret" not in str(error)


def test_a_dsn_without_password_may_stand_in_the_file_and_one_with_it_in_the_environment(here: Path) -> None:
    (here / "comporta.toml").write_text('[postgres]\nreader_dsn = "postgresql://me@host/db"\n', encoding="utf-8")
    settings = load(environ={"COMPORTA_POSTGRES_DSN": "postgresql://me:s3cret@host/db"})
    assert settings.postgres.dsn is not None
    assert settings.postgres.dsn.get_secret_value() == "postgresql://me:s3cret@host/db"
    assert "s3cret" not in repr(settings)
    assert "s3cret" not in settings.model_dump_json()


@pytest.mark.parametrize("password", ["", "changeme", "password", "Secret"])
def test_an_empty_or_an_example_password_is_refused(password: str) -> None:
    assert "empty or an example's" in str(refusal({"COMPORTA_POSTGRES_OWNER_DSN": f"postgresql://me:{password}@host/db"}))


def test_an_empty_dsn_is_refused() -> None:
    assert "postgres.dsn is empty" in str(refusal({"COMPORTA_POSTGRES_DSN": " "}))


@pytest.mark.parametrize("variable", ["COMPORTA_HOME", "COMPORTA_CACHE"])
def test_a_file_where_a_folder_should_be_is_refused(here: Path, variable: str) -> None:
    (here / "taken").write_text("", encoding="utf-8")
    assert "is a file" in str(refusal({variable: str(here / "taken")}))


def test_paths_with_spaces_and_accents_are_fine(here: Path) -> None:
    assert load(environ={"COMPORTA_HOME": "meu café"}).home == here / "meu café"


def test_every_setting_has_one_variable() -> None:
    assert len(set(VARIABLES.values())) == len(KEYS)


def test_true_is_no_number(here: Path) -> None:
    (here / "comporta.toml").write_text("[kafka]\npartitions = true\n", encoding="utf-8")
    assert isinstance(refusal({}), Setup)
