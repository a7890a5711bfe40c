"""Runs on a VM, once a minute: shuts it down when its lease is over. Python's own library only.

The lease is a time in a file, which whoever can log in may write, or in a tag of the instance,
which whoever launched it may set; the later one counts. A shutdown terminates the instance.
"""

import os
import sys
import time
import urllib.request
from datetime import datetime

FILE = os.environ.get("SCICUMULUS_LEASE_FILE", "/var/lib/scicumulus/lease")
METADATA = os.environ.get("SCICUMULUS_METADATA", "http://169.254.169.254") + "/latest"
TAG = "scicumulus:lease"
PATIENCE_S = 3


def lease_of_file() -> float:
    try:
        with open(FILE) as stream:  # noqa: PTH123
            return float(stream.read())
    except (OSError, ValueError):
        return 0.0


def lease_of_tag() -> float:
    """IMDSv2; on VMs without the Nitro system this is the tag as it was at the launch."""
    ttl = {"X-aws-ec2-metadata-token-ttl-seconds": "60"}
    try:
        token = ask("/api/token", "PUT", ttl)
        told = ask("/meta-data/tags/instance/" + TAG, "GET", {"X-aws-ec2-metadata-token": token})
        return datetime.strptime(told, "%Y-%m-%dT%H:%M:%S%z").timestamp()
    except (OSError, ValueError):
        return 0.0


def ask(path: str, method: str, headers: dict) -> str:  # type: ignore[type-arg]
    request = urllib.request.Request(METADATA + path, method=method, headers=headers)
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        text: str = answer.read().decode().strip()
    return text


if __name__ == "__main__":
    if time.time() < lease_of_file() or time.time() < lease_of_tag():
        sys.exit()
    os.execvp("shutdown", ["shutdown", "-h", "now"])
