"""Stands in for the program of a traced task: reads its files, keeps busy, writes its files.

    python3 -S burn.py cpu|sleep FILES_DIRECTORY TUPLE_FILE

Run as a program, never imported: it starts once per activation, so it needs nothing but a bare
interpreter. Its tuple is in a file, because lists of files can be longer than an argument may be.
Reading and writing count towards the runtime.
"""

# Not pathlib: to import it takes longer than to start the bare interpreter.
# ruff: noqa: PTH103, PTH104, PTH105, PTH108, PTH110, PTH116, PTH123

import os
import sys
import time

CHUNK = bytes(1 << 20)
MARK = "%tmp-"  # never begins an encoded name: after % come two hexadecimal digits


class Refused(Exception):
    """The tuple or the command line is not what a replay writes."""


def values_of(text: str) -> list[list[str]]:
    """The rows of a `;`-separated text; a value in double quotes may hold anything."""
    rows: list[list[str]] = [[]]
    value, quoted, position = "", False, 0
    while position < len(text):
        character = text[position]
        if quoted:
            end = text.find('"', position)
            if end < 0:
                raise Refused("found a quote that is not closed, expected closed quotes")
            value += text[position:end]
            quoted, position = text[end + 1 : end + 2] == '"', end + 1
            if quoted:
                value, position = value + '"', end + 2
        elif character == '"':
            quoted, position = True, position + 1
        elif character in ";\n":
            rows[-1].append(value)
            value, position = "", position + 1
            if character == "\n":
                rows.append([])
        else:
            ends = [at for at in (text.find(each, position) for each in ';"\n') if at >= 0]
            end = min(ends, default=len(text))
            value, position = value + text[position:end], end
    rows[-1].append(value)
    return [row for row in rows if row not in ([], [""])]


def read_tuple(file: str) -> dict[str, str]:
    with open(file, encoding="utf-8", newline="") as stream:
        rows = values_of(stream.read())
    if len(rows) != 2 or len(rows[0]) != len(rows[1]):
        raise Refused(f"found {len(rows)} lines in {file}, expected a header and one tuple")
    return dict(zip((name.upper() for name in rows[0]), rows[1], strict=True))


def files_of(text: str) -> list[tuple[str, int]]:
    """Encoded names with sizes in bytes; a name that could leave the directory is refused."""
    files = []
    for word in text.split():
        name, _, size = word.rpartition(":")
        if "/" in name or name in ("", ".", "..") or name.startswith(MARK) or not size.isdecimal():
            raise Refused(f"found {word!r}, expected NAME:BYTES with a percent-encoded NAME")
        files.append((name, int(size)))
    return files


def draft_name(directory: str) -> str:
    """Where a file is made before it is moved to its place.

    In the workspace, so that a task that is killed leaves nothing in the shared directory;
    but a file cannot be moved to another file system.
    """
    home = "." if os.stat(".").st_dev == os.stat(directory).st_dev else directory
    return f"{home}/{MARK}{os.urandom(8).hex()}"


def read(directory: str, name: str, size: int) -> None:
    """Read a file to its end. One that no task has written comes from outside: it is made up."""
    path = f"{directory}/{name}"
    if not os.path.exists(path):
        draft = draft_name(directory)
        with open(draft, "xb") as stream:
            os.truncate(stream.fileno(), size)
        try:
            os.link(draft, path)  # unlike a rename, never over a file that has just been written
        except FileExistsError:
            pass
        except OSError:  # a file system without links
            os.rename(draft, path)
            draft = ""
        if draft:
            os.unlink(draft)
    with open(path, "rb", buffering=0) as stream:
        buffer = bytearray(len(CHUNK))
        while stream.readinto(buffer):
            pass


def write(draft: str, size: int) -> None:
    with open(draft, "wb", buffering=0) as stream:
        while size > 0:
            size -= stream.write(CHUNK[:size])


def keep_busy(mode: str, seconds: float) -> None:
    if seconds <= 0:
        return
    if mode == "sleep":
        time.sleep(seconds)
        return
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(1000))


def burn(mode: str, directory: str, tuple_file: str) -> None:
    begun = time.monotonic() - time.process_time()  # the interpreter's start counts as well
    values = read_tuple(tuple_file)
    reads, writes = files_of(values["READS"]), files_of(values["WRITES"])
    runtime_s = float(values["RUNTIME"])
    os.makedirs(directory, mode=0o700, exist_ok=True)
    for name, size in reads:
        read(directory, name, size)
    drafts = {name: draft_name(directory) for name, _ in writes}
    for name, size in writes:
        write(drafts[name], size)
    keep_busy(mode, runtime_s - (time.monotonic() - begun))
    for name, draft in drafts.items():  # files appear when their task ends, each whole
        os.replace(draft, f"{directory}/{name}")


def main(arguments: list[str]) -> int:
    if len(arguments) != 3 or arguments[0] not in ("cpu", "sleep"):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        burn(*arguments)
    except (Refused, KeyError, ValueError) as error:
        print(f"burn.py: {type(error).__name__}: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"burn.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
