"""Tables as Parquet files, with schemas; manifests; output folders that appear whole or not at all."""
