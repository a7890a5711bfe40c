"""Whether this computer can make hosts of its own, which real remote runs are tried on."""

from __future__ import annotations

import pytest

from provisioning.netns_host import why_not

_WHY_NOT = why_not()  # tries it: once is enough
needs_hosts = pytest.mark.skipif(bool(_WHY_NOT), reason=_WHY_NOT or "it works")
