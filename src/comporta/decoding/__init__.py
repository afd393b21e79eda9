"""Says of each record of the log whether it is a transaction, a dead letter with its reason, or a tombstone, and which copy is the first.

Pure; `line`, `assembly` and the commands may import it, and it imports only `words`.
"""
