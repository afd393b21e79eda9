"""The whole way as a person types it: simulate, drain, look."""

from collections.abc import Callable

from comporta.services import embedded
from comporta.services.addresses import Addresses
from comporta.settings import Settings
from support.lines import Lines, rows


def test_twenty_thousand_and_then_the_incident_s_132_088_messages_drain_with_the_defaults_to_the_cent(
    services: Settings, fresh_database: Addresses, topic: Callable[..., str], lines: Lines
) -> None:
    name = topic(partitions=1)
    code, few, err = lines.run(fresh_database, name, "simulate", "--count", "20000", "--seed", "7")
    assert (code, few["acknowledged"]) == (0, 20_000), err
    totals = lines.drain(fresh_database, name)
    assert (totals.rows, totals.dead_letters, totals.duplicates) == (20_000, 0, 0)
    assert rows(fresh_database.owner_dsn, "select count(*), sum(amount_cents) from decisions") == [(20_000, few["amount_cents"])]

    code, many, err = lines.run(fresh_database, name, "simulate", "--count", "132088", "--seed", "8")
    assert (code, many["acknowledged"]) == (0, 132_088), err
    code, drained, err = lines.run(fresh_database, name, "stream", "--drain", COMPORTA_LINE_HEAP="1g")
    assert (code, drained["rows"]) == (0, 132_088), err
    assert drained["batches"] > 1, "the cap is finite"
    cents = few["amount_cents"] + many["amount_cents"]
    assert rows(fresh_database.owner_dsn, "select count(*), sum(amount_cents) from decisions") == [(152_088, cents)]

    # The home of this line is a second one beside the services': going down, it leaves them alone.
    assert lines.run(fresh_database, name, "down")[1]["stopped"] == []
    report = embedded.status(services)
    assert (report.kafka.state, report.postgres.state) == ("up", "up")
