"""The data pipeline on Spark: ingest raw data, sample, profile, run studies, and analyse overlays and traffic."""
