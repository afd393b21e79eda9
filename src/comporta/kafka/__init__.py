"""Speaks with Kafka: topics, positions, keys, producing, the mirrored group, Kafka's own tools. Assembly and commands may import it."""
