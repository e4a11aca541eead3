"""An extension for the tests: steps that look around, wait, or kill their own driver."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

from sparquet_provider.core.extension import BaseTransformation


class LookAround(BaseTransformation):
    """Write down all command lines of the machine while the driver runs."""

    def apply(self, df):
        listing = subprocess.run(["ps", "axww", "-o", "args"], capture_output=True, text=True, check=True).stdout
        Path(self.config.params["file"]).write_text(listing)
        return df


class Wait(BaseTransformation):
    """Say that the driver is here, then wait until a file exists."""

    def apply(self, df):
        Path(self.config.params["here"]).write_text(str(os.getpid()))
        while not Path(self.config.params["until"]).exists():
            time.sleep(0.2)
        return df


class DieOnce(BaseTransformation):
    """Kill the driver as the kernel does when memory is short; the second time all is well."""

    def apply(self, df):
        marker = Path(self.config.params["marker"])
        if not marker.exists():
            marker.write_text("")
            os.kill(os.getpid(), 9)
        return df


def register(sparquet):
    sparquet.register_transformation("look_around", LookAround)
    sparquet.register_transformation("wait", Wait)
    sparquet.register_transformation("die_once", DieOnce)
