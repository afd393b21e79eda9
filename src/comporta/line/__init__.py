"""The hot path: the streaming query, what its tasks do, and how a batch is accounted for; the one room that knows Spark.

Imported by assembly and commands; it is handed Kafka, PostgreSQL, decoding and judging as values and functions.
"""
