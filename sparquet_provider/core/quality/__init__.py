"""Data quality: rules name metrics, one pass measures them, judging is pure."""
