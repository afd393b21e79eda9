"""A Spark session that can read and write Kafka and Avro.

Java and the connectors are those that Comporta itself runs on, fetched into its cache at first use.
"""

import os
import sys

from pyspark.sql import SparkSession

from comporta import settings
from comporta.services import artifacts, java


def spark_session(name: str) -> SparkSession:
    cache = settings.load().cache
    os.environ["JAVA_HOME"] = str(java.java_home(cache))
    os.environ["PYSPARK_PYTHON"] = sys.executable
    connectors = artifacts.ensure(cache, "spark-connectors")
    spark = (
        SparkSession.builder.master("local[2]")
        .appName(name)
        .config("spark.driver.extraClassPath", os.pathsep.join(map(str, connectors)))
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", 2)
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    return spark
