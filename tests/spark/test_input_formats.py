"""Input files as they are found: strange paths, CSV, TSV, JSON lines, Parquet, damaged files, small components."""

import pytest

pytest.importorskip("pyspark", reason="the pipeline is part of gossamer[spark]")

from gossamer.model.values.errors import CheckFailed, InputError
from gossamer.pipeline.session import pattern_path, read_parquet, spark_path, spark_session, write_parquet

# One Java for all of these: the tests of a group run in one process.
pytestmark = pytest.mark.xdist_group("spark")


@pytest.fixture(scope="module")
def spark():
    with spark_session(driver_memory="1g") as session:
        yield session


def rows(spark, path, *order):
    return [tuple(row) for row in spark.read.parquet(spark_path(path)).orderBy(*order).toLocalIterator()]


def test_a_path_with_a_colon_is_read_and_written_unless_it_has_signs_of_patterns_too(spark, tmp_path):
    (tmp_path / "a:b").mkdir()
    write_parquet(spark.range(3), tmp_path / "a:b" / "t:u.parquet")
    assert read_parquet(spark, tmp_path / "a:b" / "t:u.parquet").count() == 3
    with pytest.raises(InputError, match=r"Spark cannot read .*: a name has a colon"):
        pattern_path(tmp_path / "a:b" / "t[1].parquet")


def test_a_table_that_is_not_where_it_should_be_is_an_error(spark, tmp_path, monkeypatch):
    monkeypatch.setattr("gossamer.pipeline.session.spark_path", lambda path: f"file://{tmp_path}/elsewhere")
    with pytest.raises(CheckFailed, match=r"Spark has written here\.parquet, but not to"):
        write_parquet(spark.range(3), tmp_path / "here.parquet")
