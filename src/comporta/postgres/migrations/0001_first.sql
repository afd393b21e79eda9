-- The first tables. Instants are timestamptz, money is integer cents, an identity is 128 bits kept as uuid.
-- The limits in the CHECKs are those of decoding, so a record that decoding lets through is never refused here. NaN is greater than
-- every number, so an upper bound refuses it.

create table installation (
    id uuid not null default gen_random_uuid(),
    made_at timestamptz not null default clock_timestamp(),
    only_one boolean primary key default true check (only_one)
);
insert into installation default values;

-- Who may write for a topic. `token` is drawn at every start of a query; the backends are the sessions that a take-over has to end.
create table line_owner (
    topic_id uuid primary key,
    topic text not null,
    line text not null,
    epoch bigint not null,
    token uuid not null,
    pid integer not null,
    host text not null,
    since timestamptz not null,
    backend_pid integer not null,
    backend_start timestamptz not null,
    commit_backend_pid integer,
    commit_backend_start timestamptz
);
create unique index line_owner_line on line_owner (line);

-- The only position. It moves in the transaction that stores the rows.
create table line_ledger (
    topic_id uuid not null references line_owner,
    partition integer not null check (partition >= 0),
    next_offset bigint not null check (next_offset >= 0),
    epoch bigint not null,
    token uuid not null,
    clock timestamptz,
    last_offset bigint,
    last_hash bytea check (octet_length(last_hash) = 16),
    pruned_to timestamptz,
    committed_at timestamptz not null,
    primary key (topic_id, partition),
    check ((last_offset is null) = (last_hash is null)),
    check (last_offset < next_offset)
) with (fillfactor = 50);

-- What each batch did in each partition, exact to the offset. `batch` is its number since `token` was drawn; `digests` holds one per table,
-- made by version `digest_version` of the function.
create table ledger_history (
    topic_id uuid not null,
    partition integer not null,
    from_offset bigint not null,
    to_offset bigint not null,
    batch bigint not null,
    epoch bigint not null,
    token uuid not null,
    transactions bigint not null check (transactions >= 0),
    dead_letters bigint not null check (dead_letters >= 0),
    duplicates bigint not null check (duplicates >= 0),
    tombstones bigint not null check (tombstones >= 0),
    gaps bigint not null check (gaps >= 0),
    tombstone_offsets int8multirange not null,
    gap_offsets int8multirange not null,
    digest_version smallint not null,
    digests jsonb not null,
    committed_at timestamptz not null,
    primary key (topic_id, partition, from_offset),
    foreign key (topic_id, partition) references line_ledger,
    check (to_offset > from_offset),
    check (to_offset - from_offset = transactions + dead_letters + duplicates + tombstones + gaps)
);
create index ledger_history_committed_at on ledger_history using brin (committed_at);

-- What changes the meaning of later decisions and does not stand in the log; `offsets` says, per partition, from where it holds.
create table control_events (
    id bigint generated always as identity primary key,
    topic_id uuid not null references line_owner,
    kind text not null check (kind <> ''),
    value jsonb not null,
    offsets jsonb not null check (jsonb_typeof(offsets) = 'object'),
    who text not null,
    at timestamptz not null default clock_timestamp()
);
create index control_events_kind on control_events (topic_id, kind, id);

create table decisions (
    topic_id uuid not null,
    partition integer not null check (partition >= 0),
    "offset" bigint not null check ("offset" >= 0),
    append_time timestamptz not null,
    transaction_id text not null check (char_length(transaction_id) between 1 and 128),
    customer_id text not null check (char_length(customer_id) between 1 and 128),
    event_time timestamptz not null check (event_time >= '1970-01-01 00:00:00+00' and event_time < '2100-01-01 00:00:00+00'),
    utc_offset_minutes integer not null check (utc_offset_minutes between -840 and 840),
    type text not null check (type in (
        'PIX', 'CREDIT_CARD', 'DEBIT_CARD', 'BOLETO', 'AUTO_DEBIT', 'MOBILE_TOPUP', 'TED', 'WITHDRAWAL', 'DOC'
    )),
    direction text not null check (direction in ('OUT', 'IN')),
    amount_cents bigint not null check (amount_cents between 0 and 999999999999),
    currency text,
    channel text,
    status text,
    device_id text,
    merchant_name text,
    merchant_category text,
    mcc text,
    mcc_risk_level text,
    card_brand text,
    pix_key_type text,
    payee_bank text,
    new_payee boolean,
    location_jump boolean,
    distance_km double precision check (distance_km >= 0 and distance_km < 'Infinity'),
    transactions_24h bigint check (transactions_24h between 0 and 2147483647),
    accumulated_24h_cents bigint check (accumulated_24h_cents between 0 and 999999999999999),
    message_score double precision check (message_score between -1000000 and 1000000),
    message_is_fraud boolean,
    message_fraud_type text,
    score double precision not null check (score > '-Infinity' and score < 'Infinity'),
    level text not null check (level in ('CRITICAL', 'HIGH', 'MEDIUM', 'LOW', 'NORMAL')),
    action text not null check (action in ('BLOCK', 'REVIEW', 'MONITOR', 'ACCEPT_LOG', 'ACCEPT')),
    alert boolean not null,
    reasons json not null,
    pack text not null,
    pack_version integer not null,
    model_version text,
    invalid_fields text[] not null,
    ahead_of_log boolean not null,
    primary key (topic_id, partition, "offset")
);
create index decisions_append_time on decisions using brin (append_time);
create index decisions_event_time on decisions using brin (event_time);
create index decisions_alerts on decisions (append_time) where alert;

create table dead_letters (
    id bigint generated always as identity unique,
    topic_id uuid not null,
    topic text not null,
    partition integer not null check (partition >= 0),
    "offset" bigint not null check ("offset" >= 0),
    key bytea,
    size bigint not null check (size >= 0),
    schema_id integer,
    reason text not null check (reason <> ''),
    field text,
    detail text not null,
    first_seen_at timestamptz not null,
    replayed_at timestamptz,
    primary key (topic_id, partition, "offset")
);

create table duplicates (
    topic_id uuid not null,
    partition integer not null check (partition >= 0),
    "offset" bigint not null,
    append_time timestamptz not null,
    identity uuid not null,
    transaction_id text not null,
    first_offset bigint not null check (first_offset >= 0),
    primary key (topic_id, partition, "offset"),
    check (first_offset < "offset")
);

-- The first copy of every record within the window. Rows arrive in the order of `clock`, so a few blocks' bounds are enough to prune by it.
create table identities (
    topic_id uuid not null,
    partition integer not null,
    identity uuid not null,
    "offset" bigint not null check ("offset" >= 0),
    clock timestamptz not null,
    primary key (topic_id, partition, identity)
);
create index identities_clock on identities using brin (clock) with (pages_per_range = 32, autosummarize = on);

-- Sums of money count BRL only. The free half of each page keeps an update in its page.
create table metrics_minute (
    line text not null,
    minute timestamptz not null,
    dimension text not null,
    value text not null,
    transactions bigint not null,
    amount_cents bigint not null,
    max_amount_cents bigint not null,
    alerts bigint not null,
    alert_amount_cents bigint not null,
    primary key (line, minute, dimension, value)
) with (fillfactor = 50);

-- The original's table of transactions: its columns, names and types. Scores were cut to integers there.
create view transactions as
select
    transaction_id,
    customer_id,
    device_id,
    event_time at time zone 'America/Sao_Paulo' as event_time,
    type as transaction_type,
    amount_cents::double precision / 100 as amount,
    channel,
    merchant_name as merchant,
    merchant_category as category,
    mcc_risk_level,
    card_brand,
    pix_key_type,
    transactions_24h::integer as transactions_last_24h,
    accumulated_24h_cents::double precision / 100 as accumulated_amount_24h,
    trunc(message_score)::integer as fraud_score,
    trunc(least(greatest(score, -2147483648), 2147483647))::integer as fraud_score_total,
    level as risk_level,
    message_is_fraud as is_fraud,
    message_fraud_type as fraud_type,
    status
from decisions;

-- The original's table of alerts, its 19 columns first; after them what it could not say.
create view fraud_alerts as
select
    transaction_id,
    customer_id,
    device_id,
    event_time at time zone 'America/Sao_Paulo' as event_time,
    type as transaction_type,
    amount_cents::double precision / 100 as amount,
    channel,
    merchant_name as merchant,
    merchant_category as category,
    pix_key_type,
    payee_bank as destination_bank,
    type = 'PIX' and coalesce(new_payee, false) as is_pix_new_beneficiary,
    coalesce(location_jump, false) as is_location_jump,
    distance_km as distance_from_last_txn_km,
    trunc(message_score)::integer as fraud_score,
    trunc(least(greatest(score, -2147483648), 2147483647))::integer as fraud_score_total,
    level as risk_level,
    message_is_fraud as is_fraud,
    message_fraud_type as fraud_type,
    action,
    score,
    reasons,
    status,
    amount_cents,
    currency,
    append_time,
    pack,
    pack_version,
    model_version,
    topic_id,
    partition,
    "offset"
from decisions
where alert;

-- Marks for people; no decision depends on them. `id_reused`: the same id stands on another record of the topic with other content.
-- `seen_elsewhere`: the very same record stands in another partition. Null where the identity is older than the window and was pruned.
create view decisions_marked as
select
    decisions.*,
    case
        when count(*) over same_id = 1 then false
        when count(identities.identity) over same_id < count(*) over same_id then null
        else min(identities.identity::text) over same_id <> max(identities.identity::text) over same_id
    end as id_reused,
    case when identities.identity is not null then count(*) over same_record > 1 end as seen_elsewhere
from decisions
left join identities using (topic_id, partition, "offset")
window
    same_id as (partition by topic_id, decisions.transaction_id),
    same_record as (partition by topic_id, decisions.transaction_id, identities.identity);
