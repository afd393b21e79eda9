"""The parent of all Python workers: it imports once what every task uses and forks workers that start warm.

Spark runs this module instead of its own daemon (`spark.python.daemon.module`). Python 3.11 reads the directories of every
zip and jar on `sys.path` again before each task; taking them off the path, with pyspark imported from site-packages, saves that.
"""

import gc
import sys
from collections.abc import Callable


def _without_archives(paths: list[str]) -> list[str]:
    return [path for path in paths if not path.endswith((".zip", ".jar"))]


sys.path[:] = _without_archives(sys.path)
sys.path_importer_cache.clear()


def main() -> None:
    import pyspark.worker  # noqa: F401, PLC0415 - what the daemon imports, its workers need not
    from pyspark import daemon  # noqa: PLC0415 - only after the archives have left the path

    import comporta.line.task  # noqa: F401, PLC0415 - brings Arrow, Polars, decoding and judging

    gc.collect()
    gc.freeze()
    # A task makes tens of thousands of objects and no cycles; the daemon collects after every task anyway.
    gc.disable()
    manager: Callable[[], None] = daemon.manager
    manager()


if __name__ == "__main__":
    main()
