"""Rows of a results table, made for tests of the advice and the report."""


def row(label, system, degree, disconnected, seed=1, kind="build", after=None, p99=None, most=None):
    """A build: `after` topics of 90 are disconnected when nodes fail."""
    return {
        "label": label,
        "kind": kind,
        "system": system,
        "seed": seed,
        "average_degree": degree,
        "p99_degree": 2 * degree if p99 is None else p99,
        "max_degree": 3 * degree if most is None else most,
        "links_per_subscription": 1.0,
        "max_topic_diameter": 7,
        "partitioned_topics": disconnected,
        "topics": 100,
        "partitioned_topics_after_failure": disconnected if after is None else after,
        "topics_after_failure": 90,
        "run_seconds": 0.1,
    }
