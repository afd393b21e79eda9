"""Writes a DataFrame to a topic, one message per row: the key decides the partition, and one key's messages stay in order.
A failed Spark task is run again and sends its rows again, so a reader must be able to meet a row twice.

    .venv/bin/python docs/examples/write_dataframe_to_topic.py BOOTSTRAP [TOPIC]
"""

import argparse

from session import spark_session

arguments = argparse.ArgumentParser()
arguments.add_argument("bootstrap", help="HOST:PORT of a broker, as `comporta status` shows it")
arguments.add_argument("topic", nargs="?", default="meu-topico")
given = arguments.parse_args()

spark = spark_session("write a DataFrame to a topic")
rows = [("1", "mensagem 1"), ("2", "mensagem 2"), ("1", "mensagem 3")]
messages = spark.createDataFrame(rows, ["key", "value"])
(
    messages.selectExpr("CAST(key AS STRING)", "CAST(value AS STRING)")
    .write.format("kafka")
    .option("kafka.bootstrap.servers", given.bootstrap)
    .option("kafka.acks", "all")
    .option("topic", given.topic)
    .save()
)
print(f"{len(rows)} messages written to {given.topic}")
spark.stop()
