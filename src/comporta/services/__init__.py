"""Answers where Kafka and PostgreSQL are, starts and stops the embedded ones, and says how they fare. Assembly, commands and the dashboard may import it."""
