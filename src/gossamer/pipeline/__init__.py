"""Spark: ingest, sample, profile, sweep, analyse, stream. Here so far: which Java a session runs on."""
