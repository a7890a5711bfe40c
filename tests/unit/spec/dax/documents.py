"""Small DAX documents of both versions."""

from __future__ import annotations

from collections.abc import Callable

from scicore.errors import Defect
from scicore.model.trace import Trace

DAX_2 = """\
<?xml version="1.0" encoding="UTF-8"?>
<!-- generated long ago -->
<adag xmlns="http://pegasus.isi.edu/schema/DAX" version="2.1" name="test" jobCount="3">
  <job id="ID2" namespace="Montage" name="mDiffFit" version="1.0" runtime="10.5">
    <uses file="a.fits" link="input" size="100"/>
    <uses file="b.fits" link="input" size="200"/>
    <uses file="fit.txt" link="output" size="7"/>
  </job>
  <job id="ID0" namespace="Montage" name="mProjectPP" version="1.0" runtime="13">
    <uses file="a.fits" link="output" size="100"/>
  </job>
  <job id="ID1" namespace="Montage" name="mProjectPP" version="1.0" runtime="13.25">
    <uses file="b.fits" link="output" size="200"/>
  </job>
  <child ref="ID2">
    <parent ref="ID0"/>
    <parent ref="ID1"/>
  </child>
</adag>
"""
"""Line 4 is the first job, 9 and 12 the others, 15 to 17 the edges."""

DAX_3 = """\
<p:adag xmlns:p="http://pegasus.isi.edu/schema/DAX" version="3.6" name="diamond">
  <p:metadata key="runtime">99</p:metadata>
  <p:file name="f.a"><p:pfn url="file:///f.a" site="local"/></p:file>
  <p:transformation name="preprocess"><p:uses name="helper"/></p:transformation>
  <p:job id="ID1" name="preprocess">
    <p:argument>-i <p:file name="f.a"/></p:argument>
    <p:profile namespace="pegasus" key="runtime">60</p:profile>
    <p:profile namespace="pegasus" key="cores">4</p:profile>
    <p:profile namespace="condor" key="request_cpus">8</p:profile>
    <p:profile namespace="condor" key="request_memory">2 GB</p:profile>
    <p:uses name="f.a" link="input"><p:metadata key="size">1024</p:metadata></p:uses>
    <p:uses name="f.b" link="output" size="12"><p:metadata key="size">99</p:metadata></p:uses>
    <p:uses name="keg" link="none"/>
  </p:job>
  <p:job id="ID2" name="analyze">
    <p:metadata key="runtime">1.5</p:metadata>
    <p:profile namespace="globus" key="count">2</p:profile>
    <p:profile namespace="globus" key="maxmemory">512</p:profile>
    <p:uses name="f.b" link="inout"/>
  </p:job>
  <p:child ref="ID2"><p:parent ref="ID1" edge-label="x"/></p:child>
</p:adag>
"""

Load = Callable[..., Trace]
Broken = Callable[..., tuple[Defect, ...]]
