"""What the tables look like, so that a schema that was changed by hand is told with its differences and not by a commit that fails."""

from collections.abc import Mapping

from comporta.postgres.connections import Connection

# Names and kinds only: how PostgreSQL words a constraint differs between its versions. What extensions brought is not ours.
SHAPE = """
with ours as (
    select oid, relname, relkind from pg_class
    where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p', 'v')
      and not exists (select 1 from pg_depend where objid = pg_class.oid and classid = 'pg_class'::regclass and deptype = 'e')
)
select 'column ' || relname || '.' || attname,
       format_type(atttypid, atttypmod) || case when attnotnull then ' not null' else '' end
           || case when atthasdef or attidentity <> '' then ' with default' else '' end
from ours join pg_attribute on attrelid = ours.oid where attnum > 0 and not attisdropped
union all
select 'constraint ' || conname || ' of ' || relname, contype::text
from ours join pg_constraint on conrelid = ours.oid where contype in ('c', 'f', 'p', 'u', 'x')
union all
select 'index ' || indexed.relname || ' of ' || ours.relname, case when indisunique then 'unique' else 'plain' end
from ours join pg_index on indrelid = ours.oid join pg_class as indexed on indexed.oid = indexrelid where indisvalid
union all
select 'trigger ' || tgname || ' of ' || relname, 'trigger' from ours join pg_trigger on tgrelid = ours.oid where not tgisinternal
"""


def shape(connection: Connection) -> dict[str, str]:
    """Columns, constraints, indexes and triggers of this schema's tables and views, by name."""
    return dict(connection.execute(SHAPE).fetchall())


def differences(migrated: Mapping[str, str], found: Mapping[str, str]) -> list[str]:
    """What is missing, is another, or was added and can make a commit fail or change what it stores; more columns and plain indexes may be."""
    missing = [f"{name} is missing" for name in migrated if name not in found]
    changed = [f"{name} is {found[name]}, not {kind}" for name, kind in migrated.items() if name in found and found[name] != kind]
    tables = {name.removeprefix("column ").split(".")[0] for name in migrated if name.startswith("column ")}
    added = [
        f"{name} was added"
        for name, kind in found.items()
        if name not in migrated
        and _table(name) in tables
        and (not name.startswith(("column", "index")) or kind == "unique" or _is_demanding(name, kind))
    ]
    return sorted(missing + changed + added)


def _table(name: str) -> str:
    return name.removeprefix("column ").split(".")[0] if name.startswith("column ") else name.rpartition(" of ")[2]


def _is_demanding(name: str, kind: str) -> bool:
    """A new column that every row has to fill."""
    return name.startswith("column ") and "not null" in kind and "default" not in kind
