"""Invents a bank's customers, their honest days and the frauds against them, as the messages a pipeline would receive. Only commands import it."""
