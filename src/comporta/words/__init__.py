"""The words everyone uses: tables, transactions, errors, levels. Imports nothing of Comporta; everyone may import it."""
