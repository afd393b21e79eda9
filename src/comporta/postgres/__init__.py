"""What PostgreSQL holds and how it gets there: migrations, ownership, ledger and commit, control events, readers.

assembly, commands and the dashboard may import it; of the rooms beside it, none, and it knows nothing of Kafka, Spark or fraud.
"""
