"""The page in the browser: what it remembers, how it says it, and how one poller feeds every reader. Only commands may import it."""
