"""Reads the offsets FROM (included) to TO (excluded) of one partition as a plain DataFrame: the same question has the same answer.
A batch read moves no position anywhere; ask again, sort, count and join as with any table.

    .venv/bin/python docs/examples/read_range.py BOOTSTRAP TOPIC PARTITION FROM TO
"""

import argparse
import json

from session import spark_session

arguments = argparse.ArgumentParser()
arguments.add_argument("bootstrap", help="HOST:PORT of a broker, as `comporta status` shows it")
arguments.add_argument("topic")
arguments.add_argument("partition", type=int)
arguments.add_argument("first", type=int, metavar="FROM")
arguments.add_argument("end", type=int, metavar="TO")
given = arguments.parse_args()

spark = spark_session("read a range of offsets")
messages = (
    spark.read.format("kafka")
    .option("kafka.bootstrap.servers", given.bootstrap)
    .option("assign", json.dumps({given.topic: [given.partition]}))
    .option("startingOffsets", json.dumps({given.topic: {str(given.partition): given.first}}))
    .option("endingOffsets", json.dumps({given.topic: {str(given.partition): given.end}}))
    .load()
    .selectExpr("offset", "timestamp", "CAST(key AS STRING)", "CAST(value AS STRING)")
)
messages.orderBy("offset").show(given.end - given.first, truncate=60)
spark.stop()
