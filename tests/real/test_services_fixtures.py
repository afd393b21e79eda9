"""The fixtures that every other test on real services stands on."""

from collections.abc import Callable

import psycopg

from comporta.kafka import topics
from comporta.services.addresses import Addresses


def test_a_fresh_database_is_empty_and_each_role_enters_it(fresh_database: Addresses) -> None:
    for dsn in (fresh_database.owner_dsn, fresh_database.writer_dsn, fresh_database.reader_dsn):
        with psycopg.connect(dsn) as connection:
            assert connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone() == (0,)


def test_a_fresh_topic_has_append_times(topic: Callable[..., str], fresh_database: Addresses) -> None:
    found = topics.describe(fresh_database.kafka_bootstrap, topic(partitions=3, retention_ms="60000"))
    assert found is not None
    assert (found.partitions, found.config["message.timestamp.type"], found.config["retention.ms"]) == (3, "LogAppendTime", "60000")
