"""The table of formats, and what happens without the extra packages."""

from __future__ import annotations

import sys

import pytest

from scicore.errors import ScicumulusError
from scicore.exports.formats import FORMATS, writer

NEEDY = [name for name, form in FORMATS.items() if form.packages]


@pytest.mark.parametrize("name", sorted(set(FORMATS) - set(NEEDY)))
def test_some_formats_need_nothing_extra(name: str) -> None:
    assert callable(writer(name))


@pytest.mark.parametrize("name", NEEDY)
def test_a_missing_package_is_named_with_the_way_to_get_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    [package] = FORMATS[name].packages
    for module in list(sys.modules):
        if module.startswith(("scicore.exports.", f"{package}.")):
            monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ScicumulusError, match=f"needs the Python package {package}") as caught:
        writer(name)
    assert 'pip install "scicumulus[exports]"' in caught.value.hint
