"""A Spark session in a program that does other things too."""

import logging

from py4j import java_gateway


def test_a_session_leaves_the_log_of_the_program_alone_and_drops_what_py4j_says(spark, caplog):
    logging.getLogger("a program").warning("a line of its own")
    logging.warning("a line on the root")
    # py4j logs on the root logger, with a record that names its own file.
    code = compile("import logging\nlogging.error('Exception while sending command.')", java_gateway.__file__, "exec")
    exec(code)
    logging.getLogger("py4j.java_gateway").error("An error occurred")
    assert [record.getMessage() for record in caplog.records] == ["a line of its own", "a line on the root"]
