"""The Spark session of all tests: starting one for each file would take more time than some of the tests."""

from contextlib import ExitStack

import pytest

from tests.quick_java import quick_java

SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"


@pytest.fixture(scope="session")
def session():
    from gossamer.pipeline.session import spark_session

    with ExitStack() as stack:
        with quick_java():
            started = stack.enter_context(spark_session(driver_memory="1g"))
        yield started


@pytest.fixture
def spark(session):
    """The session, with the same number of partitions at the start of every test."""
    partitions = session.conf.get(SHUFFLE_PARTITIONS)
    yield session
    session.conf.set(SHUFFLE_PARTITIONS, partitions)
