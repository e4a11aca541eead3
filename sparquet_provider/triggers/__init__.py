"""Triggers: what waits in Airflow's triggerer. Nothing here starts Spark."""
