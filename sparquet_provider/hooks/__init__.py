"""The way to Spark: connection, settings, exchange of request and result, and the end of what was started."""
