"""Says what the figures of a backlog mean: values go in, a value comes out. Anyone above may import it."""
