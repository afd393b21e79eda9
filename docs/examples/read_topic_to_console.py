"""Reads a topic as a stream and shows each micro-batch as a table on the console: key and value are bytes until you cast them.
Spark keeps the position in its own checkpoint and commits nothing to Kafka, so no consumer group shows this reader's lag.

    .venv/bin/python docs/examples/read_topic_to_console.py BOOTSTRAP [TOPIC] [--until-end]
"""

import argparse

from session import spark_session

arguments = argparse.ArgumentParser()
arguments.add_argument("bootstrap", help="HOST:PORT of a broker, as `comporta status` shows it")
arguments.add_argument("topic", nargs="?", default="meu-topico")
arguments.add_argument("--until-end", action="store_true", help="stop at the end of what is there now, instead of waiting for more")
given = arguments.parse_args()

spark = spark_session("read a topic to the console")
messages = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", given.bootstrap)
    .option("subscribe", given.topic)
    .option("startingOffsets", "earliest")
    .option("maxOffsetsPerTrigger", 1000)  # a backlog arrives in pieces, not in one batch
    .load()
    .selectExpr("partition", "offset", "CAST(key AS STRING)", "CAST(value AS STRING)")
)
console = messages.writeStream.format("console").option("truncate", "false")
if given.until_end:
    console = console.trigger(availableNow=True)
console.start().awaitTermination()
spark.stop()
