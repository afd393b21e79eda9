"""Says how grave a transaction is, why, and what follows from it, by the rules of a pack and the memory of the customer.

Pure; `line`, `assembly`, `dashboard` and the commands may import it, and it imports only `words`.
"""
