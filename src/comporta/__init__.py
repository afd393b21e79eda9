"""Comporta: a floodgate for bank transactions, from Kafka through Spark into PostgreSQL, each judged exactly once."""

__version__ = "0.1.0"
