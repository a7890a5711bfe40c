"""Pegasus DAX 2.1 and 3.x: an abstract workflow, and in synthetic traces also its runtimes.

Expat is fed piece by piece and no tree is built, so memory goes into the Trace alone. It refuses
a DOCTYPE where it begins, before any entity can be declared, and never opens another file.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from xml.parsers import expat

from scicore.model.trace import Trace, TraceFile, TraceTask
from scicore.spec.reader import Findings
from scicore.spec.trace_draft import TraceDraft

_CHUNK_BYTES = 1 << 20
_NODES = ("job", "dag", "dax")  # the last two stand for workflows of their own
_TEXTS = ("profile", "metadata")  # elements whose text may tell something
_LINKS = ("input", "output", "inout")
_ROOT = "a Pegasus DAX document with the root <adag>"

# Where a job may say what it needs: (namespace of the profile, key), the first that is given wins.
_RUNTIME = (("pegasus", "runtime"), ("metadata", "runtime"))
_CPUS = (("pegasus", "cores"), ("condor", "request_cpus"), ("globus", "count"))
_MEMORY = (("pegasus", "memory"), ("condor", "request_memory"), ("globus", "maxmemory"))
_FIGURE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:([KMGT])B?)?", re.IGNORECASE)
_UNITS = {"K": 1 / 1024, "M": 1.0, "G": 1024.0, "T": 1024.0**2}


def read_dax(path: Path) -> Trace:
    """Read a trace; raises SpecificationError with all its defects at once."""
    findings = Findings(str(path))
    try:
        with path.open("rb") as stream:
            reader = _Reader(findings)
            while chunk := stream.read(_CHUNK_BYTES):
                reader.feed(chunk)
            reader.feed(b"", final=True)
    except OSError as error:
        findings.stop(0, f"no readable file ({error.strerror})", _ROOT)
    return reader.draft.finish(path.stem)


class _Reader:
    """Turns expat's events into a draft; holds no more than the job that is being read."""

    def __init__(self, findings: Findings) -> None:
        self.draft = TraceDraft(findings)
        self._findings = findings
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.StartDoctypeDeclHandler = self._refuse_doctype
        self._path: list[str] = []  # local names of the open elements
        self._job: _Job | None = None
        self._child = ""  # the task whose parents are being read
        self._text: list[str] = []
        self._key = ("", "")  # namespace and key of the open profile or metadata
        self._use: tuple[str, str] | None = None  # name and link of a file without a size so far
        self._size: str | None = None
        self._files: dict[tuple[str, str | None], TraceFile] = {}  # by name and size as written

    def feed(self, chunk: bytes, final: bool = False) -> None:
        try:
            self._parser.Parse(chunk, final)
        except expat.ExpatError as error:
            what = expat.ErrorString(error.code)
            self._findings.stop(error.lineno, f"XML that is not well-formed ({what})", _ROOT)
        except (LookupError, ValueError) as error:  # from Python's table of encodings
            if self._path:
                raise
            self._findings.stop(1, f"an encoding that cannot be read ({error})", "a file in UTF-8")

    def _refuse_doctype(self, *_: object) -> None:
        found = "a DOCTYPE, which can pull in entities and other files"
        self._findings.stop(self._line, found, "the document without its <!DOCTYPE …>")

    @property
    def _line(self) -> int:
        return self._parser.CurrentLineNumber

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        tag, depth = name.rpartition(":")[2], len(self._path)
        self._path.append(tag)
        if depth == 2 and self._job is not None and tag == "uses":
            self._start_use(attributes, self._job)
        elif depth == 2 and tag == "parent" and self._path[1] == "child":
            parent = self._reference(tag, attributes)
            if parent and self._child:
                self.draft.edge(parent, self._child, self._line)
        elif depth == 1 and tag in _NODES:
            self._start_job(tag, attributes)
        elif depth == 1 and tag == "child":
            self._child = self._reference(tag, attributes)
        elif depth == 0 and tag != "adag":
            self._findings.stop(self._line, f"the root element <{tag}>", _ROOT)
        elif tag in _TEXTS and self._job is not None and depth <= 3:
            namespace = attributes.get("namespace", "metadata").lower()
            self._key = (namespace, attributes.get("key", "").lower())
            self._text = []
            self._parser.CharacterDataHandler = self._text.append

    def _end(self, _: str) -> None:
        tag, depth, job = self._path.pop(), len(self._path), self._job
        if job is None:
            return
        if depth == 1:
            self.draft.add(job.task(self.draft), job.line)
            self._job = None
        elif depth == 2 and tag == "uses":
            if self._use is not None:
                name, link = self._use
                job.use(self._file(name, self._size, job), link)
                self._use = None
        elif tag in _TEXTS and self._parser.CharacterDataHandler is not None:
            self._parser.CharacterDataHandler = None
            text = "".join(self._text).strip()
            if depth == 2:
                job.said.setdefault(self._key, text)
            elif self._key[1] == "size":
                self._size = text

    def _start_use(self, attributes: dict[str, str], job: _Job) -> None:
        name = attributes.get("name") or attributes.get("file", "")  # 3.x or 2.1
        link = attributes.get("link", "none").lower()
        if not name:
            found = f"<uses> without a file in task {job.id}"
            self.draft.defect(self._line, found, '<uses name="…">')
        elif link not in _LINKS:
            if link != "none":
                what = f"a file with link {link}"
                self.draft.odd(self._line, what, f"task {job.id}", "left out")
        elif "size" in attributes:
            job.use(self._file(name, attributes["size"], job), link)
        else:
            self._use, self._size = (name, link), None  # its metadata may tell the size

    def _file(self, name: str, size: str | None, job: _Job) -> TraceFile:
        file = self._files.get((name, size))
        if file is None:
            number = None if size is None else _number(size)
            if number is not None and math.isnan(number):
                found = f"the size {size!r} of file {name} in task {job.id}"
                self.draft.defect(self._line, found, "a whole number of bytes")
                number = 0.0
            file = self.draft.file(name, number, f"task {job.id}", self._line)
            self._files[name, size] = file
        return file

    def _reference(self, tag: str, attributes: dict[str, str]) -> str:
        reference = attributes.get("ref", "")
        if not reference:
            self.draft.defect(self._line, f"<{tag}> without ref", f'<{tag} ref="…">')
        return reference

    def _start_job(self, tag: str, attributes: dict[str, str]) -> None:
        id, name = attributes.get("id", ""), attributes.get("name") or attributes.get("file", "")
        if not id.strip() or not name.strip():
            missing = "id" if name.strip() else "name"
            expected = f'<{tag} id="…" name="…">'
            self.draft.unreadable(self._line, f"<{tag}> without {missing}", expected)
            return
        self._job = _Job(id, name, self._line)
        if "runtime" in attributes:
            self._job.said[_RUNTIME[0]] = attributes["runtime"]
        if tag != "job":
            what = f"a sub-workflow (<{tag}>)"
            self.draft.odd(self._line, what, f"task {id}", "taken as one task")


class _Job:
    """One job while it is being read."""

    def __init__(self, id: str, activity: str, line: int) -> None:
        self.id, self.activity, self.line = id, activity, line
        self.said: dict[tuple[str, str], str] = {}  # by attribute, profiles and metadata
        self._reads: dict[str, TraceFile] = {}
        self._writes: dict[str, TraceFile] = {}

    def use(self, file: TraceFile, link: str) -> None:
        if link != "output":
            self._reads.setdefault(file.name, file)
        if link != "input":
            self._writes.setdefault(file.name, file)

    def task(self, draft: TraceDraft) -> TraceTask:
        return TraceTask(
            self.id,
            self.activity,
            self._runtime_s(draft),
            reads=tuple(self._reads.values()),
            writes=tuple(self._writes.values()),
            cpus=max(1, math.ceil(self._figure(_CPUS, "number of cores", draft))),
            memory_mb=math.ceil(self._figure(_MEMORY, "memory", draft)),
        )

    def _runtime_s(self, draft: TraceDraft) -> float:
        text = self._first(_RUNTIME)
        if text is None:
            draft.odd(self.line, "no runtime", f"task {self.id}", "taken as 0")
            return 0.0
        seconds = _number(text)
        if math.isnan(seconds):
            found = f"the runtime {text!r} of task {self.id}"
            draft.defect(self.line, found, "a finite number of seconds")
            return 0.0
        return draft.runtime(seconds, self.id, self.line)

    def _figure(self, keys: tuple[tuple[str, str], ...], what: str, draft: TraceDraft) -> float:
        """A profile's figure; 0 when there is none. Memory is in MB unless it has a unit."""
        text = self._first(keys)
        if text is None:
            return 0.0
        match = _FIGURE.fullmatch(text)
        if match is None:  # HTCondor takes expressions there, which only it can work out
            told = f"a {what} that is no number"
            draft.odd(self.line, told, f"task {self.id}", "taken as unknown")
            return 0.0
        return float(match[1]) * _UNITS[(match[2] or "M").upper()]

    def _first(self, keys: tuple[tuple[str, str], ...]) -> str | None:
        return next((self.said[key] for key in keys if key in self.said), None)


def _number(text: str) -> float:
    """NaN for whatever is no number."""
    try:
        return float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        return math.nan
