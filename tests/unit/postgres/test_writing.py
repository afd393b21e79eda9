"""The statements around a COPY."""

from comporta.postgres.writing import delete_older, quoted, replace_all, upsert


def test_a_name_is_quoted_whatever_it_holds() -> None:
    assert quoted('a"b; drop') == '"a""b; drop"'


def test_an_upsert_adds_sums_keeps_maxima_and_goes_in_key_order() -> None:
    assert upsert("m", ("k",), ("s",), ("x",)) == (
        'insert into "m" as old ("k", "s", "x") select "k", sum("s"), max("x") from pg_temp."staging_m" group by "k" order by "k" '
        'on conflict ("k") do update set "s" = old."s" + excluded."s", "x" = greatest(old."x", excluded."x")'
    )


def test_a_replacement_takes_every_column_that_is_no_key() -> None:
    assert replace_all("m", ("k",), ("k", "a", "b")).endswith('on conflict ("k") do update set "a" = excluded."a", "b" = excluded."b"')


def test_only_older_rows_are_deleted() -> None:
    assert delete_older("m", ("k", "l")).endswith('where stored."k" = new."k" and stored."l" = new."l" and stored.clock < new.clock')
