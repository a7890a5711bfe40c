"""The files of a run in S3: a whole object or none, checked by its SHA-256 both ways.

An object's key is the file's path; its digest travels in its metadata. Credentials come from
boto3's own chain: on a VM, its instance profile.
"""

from __future__ import annotations

import base64
import hashlib
import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, get_ident
from typing import Any, TypeVar
from urllib.parse import parse_qsl, quote, urlsplit

from scicore.errors import ScicumulusError, UsageError

EXAMPLE = "s3://BUCKET/PREFIX, maybe with ?region=NAME&endpoint=URL&patience_s=SECONDS"
PATIENCE_S = 120.0  # how long a storage that does not answer, or throttles, is asked again
PAUSE_S = (0.2, 5.0)  # between two tries: the first, the longest
TRIES = 3  # for what arrives damaged
IN_PARTS_BYTES = 256 << 20  # larger files go in parts; S3 takes 5 GB at once
_CHUNK = 1 << 20
_PASSING = frozenset(
    [
        "SlowDown",
        "Throttling",
        "ThrottlingException",
        "RequestLimitExceeded",
        "ServiceUnavailable",
        "InternalError",
        "RequestTimeout",
        "RequestTimeTooSkewed",
        "500",
        "502",
        "503",
        "504",
    ]
)
_DAMAGED = frozenset(
    ["BadDigest", "XAmzContentChecksumMismatch", "InvalidDigest", "IncompleteBody"]
)
_GONE = frozenset(["NoSuchKey", "404", "NotFound", "NoSuchBucket"])

_T = TypeVar("_T")


class StorageError(ScicumulusError):
    """The storage refused, or was away for too long."""


class Gone(StorageError):
    """What should be in the storage is not."""


class Damaged(StorageError):
    """What arrived is not what was sent."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the files of runs are kept."""

    bucket: str
    prefix: str = ""
    endpoint: str | None = None  # None: AWS
    region: str | None = None  # None: as boto3 finds it
    patience_s: float = PATIENCE_S

    @property
    def url(self) -> str:
        return f"s3://{self.bucket}/{self.prefix}"


def parse(url: str) -> Place:
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    endpoint = options.pop("endpoint", None)
    region = options.pop("region", None)
    patience = options.pop("patience_s", str(PATIENCE_S))
    known = not options and parts.netloc and "@" not in parts.netloc and not parts.fragment
    endpoint_is_plain = endpoint is None or "@" not in endpoint
    if parts.scheme != "s3" or not known or not endpoint_is_plain or not _is_number(patience):
        hint = "credentials never stand in it: they are found as boto3 finds them"
        raise UsageError(f"the storage is not understood; expected {EXAMPLE}", hint)
    return Place(parts.netloc, parts.path.strip("/"), endpoint, region, float(patience))


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdecimal()


@dataclass(frozen=True, slots=True)
class Moved:
    """What became of one file."""

    size_bytes: int = 0  # that went over the network
    cached: bool = False  # nothing had to be moved
    retries: int = 0


class Storage:
    """The files of one run. May be used by several threads at once."""

    def __init__(self, place: Place, run: int | str, client: Any = None) -> None:
        self.place = place
        self._run = str(run)
        self._client = client or _client(place)
        self._known: dict[Path, str] = {}  # digests of what is in the storage
        self._locks: defaultdict[Path, Lock] = defaultdict(Lock)
        self._lock = Lock()

    def check(self) -> None:
        """Before anything depends on it."""
        self._patiently("looking at", self.place.url, lambda: self._ask("head_bucket"))

    def key(self, path: Path) -> str:
        prefix = f"{self.place.prefix}/" if self.place.prefix else ""
        return f"{prefix}run-{self._run}{quote(str(path))}"

    # --- to the storage --------------------------------------------------------------------------

    def put(self, path: Path, sha256: str) -> Moved:
        """The file, as its digest says it is, or nothing."""
        with self._alone_with(path):
            if self._known.get(path) == sha256:
                return Moved(cached=True)
            send = self._in_parts if path.stat().st_size > IN_PARTS_BYTES else self._at_once
            metadata = {"sha256": sha256, "mode": f"{path.stat().st_mode & 0o777:o}"}
            size_bytes, retries = self._patiently(
                "storing", str(path), lambda: send(path, sha256, metadata)
            )
            self._known[path] = sha256
            return Moved(size_bytes, retries=retries)

    def _at_once(self, path: Path, sha256: str, metadata: dict[str, str]) -> int:
        """S3 compares the digest and takes all of it or nothing."""
        with path.open("rb") as stream:
            size_bytes = path.stat().st_size
            self._ask(
                "put_object",
                Key=self.key(path),
                Body=stream,
                ContentLength=size_bytes,
                Metadata=metadata,
                ChecksumSHA256=base64.b64encode(bytes.fromhex(sha256)).decode(),
            )
        return size_bytes

    def _in_parts(self, path: Path, sha256: str, metadata: dict[str, str]) -> int:
        """Each part is checked by S3; the object appears when the last one is there."""
        whole, size_bytes = hashlib.sha256(), 0
        upload = {
            "Key": self.key(path),
            "UploadId": self._ask(
                "create_multipart_upload",
                Key=self.key(path),
                Metadata=metadata,
                ChecksumAlgorithm="SHA256",
            )["UploadId"],
        }
        parts: list[dict[str, Any]] = []
        try:
            with path.open("rb") as stream:
                while data := stream.read(IN_PARTS_BYTES):
                    whole.update(data)
                    size_bytes += len(data)
                    checksum = base64.b64encode(hashlib.sha256(data).digest()).decode()
                    part = {"PartNumber": len(parts) + 1, "ChecksumSHA256": checksum}
                    answer = self._ask("upload_part", Body=data, **part, **upload)
                    parts.append({"ETag": answer["ETag"], **part})
            if whole.hexdigest() != sha256:
                raise Damaged(f"{path} changed while it was stored")
            self._ask("complete_multipart_upload", MultipartUpload={"Parts": parts}, **upload)
        except BaseException:
            with suppress(*_troubles()):  # to tidy up must not hide why
                self._ask("abort_multipart_upload", **upload)
            raise
        return size_bytes

    # --- from the storage ------------------------------------------------------------------------

    def get(self, path: Path, sha256: str = "") -> Moved:
        """The file at its path, as it was stored. What is there already and is the same stays;
        without a digest, the storage's own word counts."""
        with self._alone_with(path):
            retries = 0
            if path.is_file():
                if not (expected := sha256 or self._known.get(path, "")):
                    expected, retries = self._patiently(
                        "looking for", str(path), lambda: self._stored_digest(path)
                    )
                if digest_of(path) == expected:
                    self._known[path] = expected
                    return Moved(cached=True, retries=retries)
            size_bytes, more = self._patiently(
                "fetching", str(path), lambda: self._download(path, sha256)
            )
            return Moved(size_bytes, retries=retries + more)

    def _stored_digest(self, path: Path) -> str:
        return _digest_in(self._ask("head_object", Key=self.key(path)))

    def _download(self, path: Path, sha256: str) -> int:
        answer = self._ask("get_object", Key=self.key(path))
        expected = sha256 or _digest_in(answer)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.{get_ident()}.part")
        found, size_bytes = hashlib.sha256(), 0
        try:
            with draft.open("wb") as stream:
                for chunk in answer["Body"].iter_chunks(_CHUNK):
                    found.update(chunk)
                    size_bytes += stream.write(chunk)
            if found.hexdigest() != expected:
                raise Damaged(
                    f"{path} came from {self.place.url} with the SHA-256 {found.hexdigest()}, "
                    f"expected {expected or 'one, but the object has none'}",
                    "the object was damaged or replaced: run what makes it again",
                )
            draft.chmod(int(answer.get("Metadata", {}).get("mode", "600"), 8))
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
        self._known[path] = expected
        return size_bytes

    # --- asking ----------------------------------------------------------------------------------

    @contextmanager
    def _alone_with(self, path: Path) -> Iterator[None]:
        """Who wants the same file meanwhile waits, and finds it."""
        with self._lock:
            lock = self._locks[path]
        with lock:
            yield

    def _ask(self, call: str, **parameters: Any) -> Any:
        return getattr(self._client, call)(Bucket=self.place.bucket, **parameters)

    def _patiently(self, doing: str, what: str, call: Callable[[], _T]) -> tuple[_T, int]:
        """The answer, and how often the call had to be repeated."""
        deadline = time.monotonic() + self.place.patience_s
        pause_s, retries, damaged = PAUSE_S[0], 0, 0
        while True:
            try:
                return call(), retries
            except _troubles() as error:
                trouble = _translated(error, doing, what, self.place)
                damaged += isinstance(trouble, Damaged)
                lasting = isinstance(trouble, Gone) or not _may_pass(error)
                if lasting and not 0 < damaged < TRIES:
                    raise trouble from error
                if time.monotonic() > deadline:
                    waited = f"; asked {retries + 1} times in {self.place.patience_s:g} s"
                    raise StorageError(f"{trouble.message}{waited}", trouble.hint) from error
            retries += 1
            time.sleep(pause_s * random.uniform(0.5, 1.0))
            pause_s = min(2 * pause_s, PAUSE_S[1])


def digest_of(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _digest_in(answer: Any) -> str:
    return str(answer.get("Metadata", {}).get("sha256", ""))


def _client(place: Place) -> Any:
    try:
        import boto3
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError
    except ImportError as error:
        raise UsageError("S3 needs boto3, which is not installed", "pip install boto3") from error
    config = Config(
        retries={"mode": "standard", "total_max_attempts": 1},  # we count them ourselves
        connect_timeout=5,
        read_timeout=60,
        max_pool_connections=32,
        user_agent_extra="scicumulus",
    )
    try:
        return boto3.client(
            "s3", region_name=place.region, endpoint_url=place.endpoint, config=config
        )
    except (BotoCoreError, ValueError) as error:  # a ValueError: of the endpoint's URL
        raise _translated(error, "reaching", place.url, place) from error


def _code_of(error: Exception) -> str:
    answer = getattr(error, "response", None)
    return str(answer.get("Error", {}).get("Code", "")) if isinstance(answer, dict) else ""


def _troubles() -> tuple[type[Exception], ...]:
    """What asking S3, or reading and writing the file meanwhile, may end with."""
    from botocore.exceptions import BotoCoreError, ClientError

    return BotoCoreError, ClientError, OSError, StorageError


def _may_pass(error: Exception) -> bool:
    from botocore.exceptions import (
        ConnectionError,
        HTTPClientError,
        IncompleteReadError,
        ResponseStreamingError,
    )

    streams = (ConnectionError, HTTPClientError, IncompleteReadError, ResponseStreamingError)
    return isinstance(error, streams) or _code_of(error) in _PASSING


def _translated(error: Exception, doing: str, what: str, place: Place) -> StorageError:
    """boto3's errors in our words; never with what was signed."""
    if isinstance(error, StorageError):
        return error
    code, head = _code_of(error), f"{doing} {what} ({place.url})"
    if code in _GONE:
        missing = "there is no such bucket" if code == "NoSuchBucket" else "it is not there"
        hint = "it was deleted, or never stored: run what makes it again"
        return Gone(f"{head}: {missing}", hint)
    if code in _DAMAGED:
        return Damaged(f"{head}: S3 received something else than was sent ({code})")
    if isinstance(error, OSError) and not code:
        return StorageError(f"{head}: {error.strerror or error}")
    hint = "see which credentials this computer has, and what they are allowed (docs/cloud.md)"
    told = f"S3 answers {code}" if code else f"{type(error).__name__}: {error}"
    return StorageError(f"{head}: {told}", "" if code in _PASSING else hint)
