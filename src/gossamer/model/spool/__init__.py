"""Spool folders: telemetry records as files that roll over, for programs without pyarrow."""
