"""What spark-submit runs: ``sparquet_driver.py REQUEST``. It stands alone in its folder, since that folder heads sys.path."""

from sparquet_provider.core.__main__ import main

main()
