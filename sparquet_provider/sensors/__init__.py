"""Sensors that wait for data that is good. Importing them starts no Spark and loads no other provider."""

from .cola import ColaCheckSensor

__all__ = ["ColaCheckSensor"]
