"""Writes users to a topic as bare Avro and reads them back: no registry, so both sides must hold the same schema, here USER.
The bytes carry no field names (id "1", nome "Ana", idade 30 is 02 31 06 41 6e 61 3c): with another schema they mean something else.

    .venv/bin/python docs/examples/avro_by_hand.py BOOTSTRAP [TOPIC]
"""

import argparse

from pyspark.sql.avro.functions import from_avro, to_avro
from pyspark.sql.functions import col, struct
from session import spark_session

USER = """{
    "type": "record",
    "name": "User",
    "namespace": "com.exemplo.kafka",
    "fields": [
        {"name": "id", "type": "string", "doc": "Identificador do usuário"},
        {"name": "nome", "type": "string"},
        {"name": "idade", "type": "int"}
    ]
}"""

arguments = argparse.ArgumentParser()
arguments.add_argument("bootstrap", help="HOST:PORT of a broker, as `comporta status` shows it")
arguments.add_argument("topic", nargs="?", default="usuarios")
given = arguments.parse_args()

spark = spark_session("Avro made by hand")
users = spark.createDataFrame([("1", "Ana", 30), ("2", "João", 41)], "id STRING NOT NULL, nome STRING NOT NULL, idade INT NOT NULL")
(
    users.select(col("id").alias("key"), to_avro(struct("id", "nome", "idade"), USER).alias("value"))
    .write.format("kafka")
    .option("kafka.bootstrap.servers", given.bootstrap)
    .option("topic", given.topic)
    .save()
)
(
    spark.read.format("kafka")
    .option("kafka.bootstrap.servers", given.bootstrap)
    .option("subscribe", given.topic)
    .load()
    .select(col("value").alias("bytes"), from_avro("value", USER, {"mode": "FAILFAST"}).alias("user"))
    .select("bytes", "user.*")
    .show(truncate=False)
)
spark.stop()
