"""How a VM is told how long it may live: at its first boot by user-data, later over SSH.

User-data holds the lease timer and our public key, nothing else: everybody on the VM can read it.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from provisioning import lease_timer

DIRECTORY = "/var/lib/scicumulus"
FILE = f"{DIRECTORY}/lease"
_PROGRAM = "/usr/local/sbin/scicumulus-lease"
_UNIT = "/etc/systemd/system/scicumulus-lease"
_SERVICE = f"""[Unit]
Description=End this VM when its lease is over
[Service]
Type=oneshot
ExecStart=/usr/bin/python3 {_PROGRAM}
"""
_TIMER = """[Unit]
Description=Look at the lease of this VM every minute
[Timer]
OnActiveSec=1min
OnUnitActiveSec=1min
AccuracySec=5s
[Install]
WantedBy=timers.target
"""


def user_data(lease_until: datetime, public_key: str) -> str:
    """cloud-config, written as JSON (which is YAML): no value can be taken for markup."""
    document = {
        "ssh_authorized_keys": [public_key],
        "ssh_pwauth": False,
        "disable_root": True,
        "write_files": [
            _file(FILE, f"{_epoch_s(lease_until)}\n"),
            _file(_PROGRAM, Path(lease_timer.__file__).read_text(encoding="utf-8")),
            _file(f"{_UNIT}.service", _SERVICE),
            _file(f"{_UNIT}.timer", _TIMER),
        ],
        "runcmd": [
            ["systemctl", "daemon-reload"],
            ["systemctl", "enable", "--now", "scicumulus-lease.timer"],
        ],
    }
    return f"#cloud-config\n{json.dumps(document, indent=1)}\n"


def _file(path: str, content: str) -> dict[str, str]:
    return {"path": path, "content": content, "permissions": "0644"}


def renewal_command(lease_until: datetime) -> str:
    """What to run on the VM over SSH, as a user who may use sudo: needed where the timer cannot
    see a changed tag, that is on VMs without the Nitro system (t2, m3, …)."""
    return f"echo {_epoch_s(lease_until)} | sudo -n tee {FILE} >/dev/null"


def as_tag(lease_until: datetime) -> str:
    return lease_until.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S+0000")


def from_tag(text: str) -> datetime:
    """ValueError if it is none of ours."""
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S%z")


def _epoch_s(moment: datetime) -> int:
    return int(moment.timestamp())
