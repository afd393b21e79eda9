"""The tables that travel between rooms, as Arrow schemas: what a task reads, what decoding and judging return, what the commit stores.

A table made in a task has no `topic_id`: the commit adds it, for it is one value for the whole batch.
Instants are microseconds in UTC, money is integer cents, unknown is null.
"""

import pyarrow as pa

INSTANT = pa.timestamp("us", tz="UTC")
IDENTITY = pa.binary(16)

# One record of one Kafka partition, as the Spark task receives it; rows are in offset order.
RECORDS = pa.schema(
    [
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("timestamp", INSTANT, nullable=False),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
    ]
)

# What decoding makes of a good record: the default message (transaction.avsc) with its coordinates and the original's own fields.
TRANSACTIONS = pa.schema(
    [
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("append_time", INSTANT, nullable=False),
        pa.field("identity", IDENTITY, nullable=False),
        pa.field("transaction_id", pa.string(), nullable=False),
        pa.field("customer_id", pa.string(), nullable=False),
        pa.field("event_time", INSTANT, nullable=False),
        pa.field("utc_offset_minutes", pa.int32(), nullable=False),
        pa.field("type", pa.string(), nullable=False),
        pa.field("direction", pa.string(), nullable=False),
        pa.field("amount_cents", pa.int64(), nullable=False),
        pa.field("currency", pa.string()),
        pa.field("channel", pa.string()),
        pa.field("status", pa.string()),
        pa.field("refusal_reason", pa.string()),
        pa.field("session_id", pa.string()),
        pa.field("device_id", pa.string()),
        pa.field("ip", pa.string()),
        pa.field("latitude", pa.float64()),
        pa.field("longitude", pa.float64()),
        pa.field("card_brand", pa.string()),
        pa.field("card_type", pa.string()),
        pa.field("card_entry", pa.string()),
        pa.field("installments", pa.int32()),
        pa.field("cvv_validated", pa.bool_()),
        pa.field("auth_3ds", pa.bool_()),
        pa.field("merchant_id", pa.string()),
        pa.field("merchant_name", pa.string()),
        pa.field("merchant_category", pa.string()),
        pa.field("mcc", pa.string()),
        pa.field("payee_bank", pa.string()),
        pa.field("pix_key_type", pa.string()),
        # The original's own fields, null for every other format; only the classic packs may name them.
        pa.field("classic_mcc_risk_level", pa.string()),
        pa.field("classic_distance_km", pa.float64()),
        pa.field("classic_minutes_since_last", pa.int64()),
        pa.field("classic_transactions_24h", pa.int64()),
        pa.field("classic_accumulated_24h_cents", pa.int64()),
        pa.field("classic_unusual_time", pa.bool_()),
        pa.field("classic_new_beneficiary", pa.bool_()),
        pa.field("classic_fraud_score", pa.float64()),
        pa.field("classic_is_fraud", pa.bool_()),
        pa.field("classic_fraud_type", pa.string()),
        # Names of the fields that were not valid and became null, in the order of this schema.
        pa.field("invalid_fields", pa.list_(pa.string()), nullable=False),
        # Event time more than 15 minutes after the append time: judged, but outside all windows.
        pa.field("ahead_of_log", pa.bool_(), nullable=False),
    ]
)

# What judging says of a transaction, with what the views and pages need of it. A pure function of the log: it holds no commit time, epoch or batch.
DECISIONS = pa.schema(
    [
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("append_time", INSTANT, nullable=False),
        pa.field("transaction_id", pa.string(), nullable=False),
        pa.field("customer_id", pa.string(), nullable=False),
        pa.field("event_time", INSTANT, nullable=False),
        pa.field("utc_offset_minutes", pa.int32(), nullable=False),
        pa.field("type", pa.string(), nullable=False),
        pa.field("direction", pa.string(), nullable=False),
        pa.field("amount_cents", pa.int64(), nullable=False),
        pa.field("currency", pa.string()),
        pa.field("channel", pa.string()),
        pa.field("status", pa.string()),
        pa.field("device_id", pa.string()),
        pa.field("merchant_name", pa.string()),
        pa.field("merchant_category", pa.string()),
        pa.field("mcc", pa.string()),
        pa.field("mcc_risk_level", pa.string()),
        pa.field("card_brand", pa.string()),
        pa.field("pix_key_type", pa.string()),
        pa.field("payee_bank", pa.string()),
        pa.field("new_payee", pa.bool_()),
        pa.field("location_jump", pa.bool_()),
        pa.field("distance_km", pa.float64()),
        pa.field("transactions_24h", pa.int64()),
        pa.field("accumulated_24h_cents", pa.int64()),
        pa.field("message_score", pa.float64()),
        pa.field("message_is_fraud", pa.bool_()),
        pa.field("message_fraud_type", pa.string()),
        pa.field("score", pa.float64(), nullable=False),
        pa.field("level", pa.string(), nullable=False),
        pa.field("action", pa.string(), nullable=False),
        pa.field("alert", pa.bool_(), nullable=False),
        # JSON text: [{"rule": id, "points": n, "values": {field: value}}], in the order of the pack.
        pa.field("reasons", pa.string(), nullable=False),
        pa.field("pack", pa.string(), nullable=False),
        pa.field("pack_version", pa.int32(), nullable=False),
        pa.field("model_version", pa.string()),
        pa.field("invalid_fields", pa.list_(pa.string()), nullable=False),
        pa.field("ahead_of_log", pa.bool_(), nullable=False),
    ]
)

DEAD_LETTERS = pa.schema(
    [
        pa.field("topic", pa.string(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("key", pa.binary()),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("schema_id", pa.int32()),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("field", pa.string()),
        # Where and why, without any value of the record.
        pa.field("detail", pa.string(), nullable=False),
        pa.field("first_seen_at", INSTANT, nullable=False),
    ]
)

DUPLICATES = pa.schema(
    [
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("append_time", INSTANT, nullable=False),
        pa.field("identity", IDENTITY, nullable=False),
        pa.field("transaction_id", pa.string(), nullable=False),
        pa.field("first_offset", pa.int64(), nullable=False),
    ]
)

# The first copy of every record, by identity; `clock` is the partition's clock when it was seen.
IDENTITIES = pa.schema(
    [
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("identity", IDENTITY, nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("clock", INSTANT, nullable=False),
    ]
)

# Sums of money count BRL only; `minute` is the minute of the event time.
METRICS_MINUTE = pa.schema(
    [
        pa.field("minute", INSTANT, nullable=False),
        pa.field("dimension", pa.string(), nullable=False),
        pa.field("value", pa.string(), nullable=False),
        pa.field("transactions", pa.int64(), nullable=False),
        pa.field("amount_cents", pa.int64(), nullable=False),
        pa.field("max_amount_cents", pa.int64(), nullable=False),
        pa.field("alerts", pa.int64(), nullable=False),
        pa.field("alert_amount_cents", pa.int64(), nullable=False),
    ]
)

# What is remembered of a customer between batches; step by step it will hold more than the key.
MEMORY = pa.schema([pa.field("customer_id", pa.string(), nullable=False)])
