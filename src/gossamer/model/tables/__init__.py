"""Parquet tables with schemas, manifests, and output folders that are written completely or not at all."""
