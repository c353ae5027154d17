"""Failures of Spark that have a known cause, as one sentence that says what to do."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from gossamer.model.values.errors import GossamerError, InputError

# Parts of the messages of Java and Python, and the sentence for each. {0} is what the first group found.
_SENTENCES: tuple[tuple[str, str], ...] = (
    (r"(?:No space left on device|Disk quota exceeded|not enough space)", "the disk is full: free some space, or write to "
     "another disk (OUT, and spark.local.dir for Spark's own files); nothing half-written is left"),
    (r"No FileSystem for scheme \"([^\"]+)\"", "Spark knows no storage for {0}://; check the URI, or add the package of "
     "this storage with `conf` spark.jars.packages=..."),
    (r"Class (org\.apache\.hadoop\.fs\.\S+) not found", "Spark lacks {0}, which this URI needs; add its package with `conf` "
     "spark.jars.packages=... (for s3a:// org.apache.hadoop:hadoop-aws in the version of Spark's Hadoop)"),
    (r"RuntimeError: (worker \S+ has no [^\n]+)", "{0}"),
    # Spark itself needs some of the packages before it calls our code, which names the worker.
    (r"ModuleNotFoundError: No module named '([^']+)'", "the Python of the workers has no {0}: install gossamer[sim] for it "
     "there, or set PYSPARK_PYTHON to a Python that has it"),
    (r"Cannot run program \"([^\"]+)\"", "the workers cannot run {0}: set PYSPARK_PYTHON to a Python there that has "
     "gossamer[sim]"),
    (r"PYTHON_VERSION_MISMATCH\] ([^,\n]+)", "{0}; set PYSPARK_PYTHON to a Python of that version there"),
    (r"(?:Path|path) does not exist: (\S+)", "there is no {0}"),
    (r"UnknownHostException: (\S+)", "the host {0} is not known; check the URI"),
    (r"Permission(?: denied|DeniedException)[^\n]*?((?:[a-z0-9]+:)?/[^\s\"]*)", "no permission for {0}"),
)  # fmt: skip


def sentence_for(message: str) -> str | None:
    """The sentence for a message of Spark whose cause is known."""
    for pattern, sentence in _SENTENCES:
        found = re.search(pattern, message)
        if found:
            return sentence.format(*(group.rstrip(".") for group in found.groups()))
    return None


@contextmanager
def explained() -> Iterator[None]:
    """Raise failures of Spark with a known cause as errors of the user's input or machine."""
    try:
        yield
    except GossamerError:
        raise
    except Exception as error:
        sentence = sentence_for(str(error))
        if sentence is None:
            raise
        raise InputError(sentence) from None
