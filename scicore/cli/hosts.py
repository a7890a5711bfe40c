"""The hosts of a run: read from a hostfile, asked whether they answer, given to mpirun.

The hostfile is read again for every MPI job, and a job gives way to another when it changes: so
VMs join and leave while the run goes on.
"""

from __future__ import annotations

import hashlib
import shlex
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from provisioning import hostfile
from provisioning.hostfile import Hostfile, Seat
from scicore.cli.output import say
from scicore.engine import seating
from scicore.engine.launch import Across, mpirun_command
from scicore.engine.private import private_place
from scicore.engine.seating import Seating
from scicore.errors import LaunchError, ScicumulusError, UsageError
from scicore.model.cloud import Fleet, Vm, VmType

if TYPE_CHECKING:
    from scicore.provenance.connection import Database

AT_ONCE = 32  # hosts that are asked together
ANSWER_S = 20.0
_HERE = ("localhost", "127.0.0.1", "::1")
_SSH = """\
Host *
BatchMode yes
StrictHostKeyChecking yes
ServerAliveInterval 5
ServerAliveCountMax 2
ConnectTimeout 5
LogLevel ERROR
Include {config}
"""


# Whether a host can run the package, and reach the master, as MPI's daemons must.
_FIT = """
import socket, sys
import scicore
if sys.argv[1:]:
    try:
        socket.create_connection((sys.argv[1], int(sys.argv[2])), 10).close()
    except OSError as error:
        sys.exit(f"it cannot connect to this computer ({sys.argv[1]}): {error}")
"""


class Hosts:
    def __init__(self, file: Path, catalog: Mapping[str, VmType], storage: str = "") -> None:
        """`storage`: where files are handed over; empty = in a directory that all share."""
        self.file = file.absolute()
        self.storage = storage
        self._catalog = catalog
        self._digest = ""  # of the hostfile, as the last job was started with it
        self._seats: tuple[Seat, ...] = ()  # of the last job
        self._ever: dict[str, Seat] = {}  # whoever had a keeper, by VM
        self._agent = ""

    # --- the hostfile ----------------------------------------------------------------------------

    def read(self) -> Hostfile:
        text = self._text()
        self._digest = _digest(text)
        listed = hostfile.parse(text, str(self.file))
        self._agent = _agent(self.file.parent, listed.ssh_config)
        return listed

    def fleet(self) -> Fleet:
        """The VMs that the hosts are."""
        return hostfile.fleet_of(self.read().hosts, self._catalog)

    def are(self, fleet: Fleet) -> bool:
        """Whether they are of the types that a plan counts on."""
        types = {vm.id: vm.type.name for vm in self.fleet().vms}
        return types == {vm.id: vm.type.name for vm in fleet.vms}

    def vms(self) -> list[str]:
        """Ids, as the hostfile has them now."""
        return [vm.id for vm in self.fleet().vms]

    def changed(self) -> bool:
        """Since the last job was started; an editor may have it half written, or away."""
        try:
            text = self._text()
            hostfile.parse(text, str(self.file))
        except ScicumulusError:
            return False
        return _digest(text) != self._digest

    def _text(self) -> str:
        try:
            return self.file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"hostfile {self.file} cannot be read: {error}") from error

    # --- the first job ---------------------------------------------------------------------------

    def check(self, fleet: Fleet) -> None:
        """Before a run is stored: the hosts are the plan's VMs, and every one is fit to run."""
        seats = hostfile.seat(self.read().hosts, fleet)
        with listening(seat.address for seat in seats) as lines:
            failed = self._ask(seats, lambda host: [sys.executable, "-c", _FIT, *lines[host]])
        if failed:
            listing = "\n".join(f"  {address}: {why}" for address, why in failed.items())
            raise LaunchError(
                f"{len(failed)} of {len({seat.address for seat in seats})} hosts cannot be used; "
                f"nothing was started:\n{listing}",
                f"every host needs SSH without a password, this Python at {sys.executable}, and a "
                "way to connect to this computer, where the master is: behind a router or a "
                "firewall, type the command on a computer in the hosts' network",
            )

    def seats(self, fleet: Fleet) -> tuple[Seat, ...]:
        """Who is where, as the hostfile has it now."""
        return hostfile.seat_again(self.read().hosts, fleet, self._catalog)

    # --- every job -------------------------------------------------------------------------------

    def command(
        self, database: Database, run_id: int, directory: str, fleet: Fleet, *, quiet: bool
    ) -> list[str]:
        """mpirun over the hosts that answer."""
        listed = self.read()
        wanted = hostfile.seat_again(listed.hosts, fleet, self._catalog)
        silent = self._ask(wanted, lambda _: ["true"])
        for address, why in silent.items():
            say(f"host {address} does not answer ({why}): the run goes on without it")
        seats = tuple(seat for seat in wanted if seat.address not in silent)
        if not seats:
            raise LaunchError(
                f"none of the {len(wanted)} hosts of {self.file} answers",
                f"when some do, go on with: scicumulus resume {run_id}; VMs that are rented, and "
                "gone, are replaced with --replace N",
            )
        self._let_go(directory, wanted)
        before = seating.last(directory)
        self._welcome(database, run_id, fleet, seats, before)
        self._seats = seats
        self._ever.update({seat.vm.id: seat for seat in seats})
        seated = Seating(
            tuple(seat.vm for seat in seats),
            str(self.file),
            _absent(before, fleet, seats),
            self.storage,
            listed.notices,
        )
        addresses = [seat.address for seat in seats]
        file, ranks = seating.save(directory, seated, addresses)
        across = Across(ranks, self._agent, listed.network)
        away = any(address not in _HERE for address in addresses)
        return mpirun_command(
            len(seats),
            *("-m", "scicore", str(run_id), str(file)),
            quiet=quiet,
            across=across if away else None,
        )

    def _welcome(
        self,
        database: Database,
        run_id: int,
        fleet: Fleet,
        seats: Sequence[Seat],
        before: Seating | None,
    ) -> None:
        from scicore.provenance.store import add_vms

        known = {vm.id for vm in (*fleet.vms, *(before.everyone if before else ()))}
        new = [seat for seat in seats if seat.vm.id not in known]
        for seat in new:
            say(f"VM {seat.vm.id} joins the run, on host {seat.address}")
        if new:
            with database.engine.begin() as connection:
                add_vms(connection, run_id, [seat.vm for seat in new])

    def _let_go(self, directory: str, wanted: Sequence[Seat]) -> None:
        """Hosts that left the hostfile: their programs end, others will do that work."""
        stay = {seat.address for seat in wanted}
        gone = [seat for seat in self._ever.values() if seat.address not in stay]
        if gone:
            say(f"{', '.join(seat.vm.id for seat in gone)}: not in the hostfile any more")
            self._end_keepers(directory, gone)
            for seat in gone:
                del self._ever[seat.vm.id]

    def end(self, directory: str) -> None:
        """No program is left on a host that can be reached; on others, the keepers see to it."""
        self._end_keepers(directory, tuple(self._ever.values()))

    def _end_keepers(self, directory: str, seats: Sequence[Seat]) -> None:
        away = [seat for seat in seats if seat.address not in _HERE]
        self._ask(away, lambda _: [sys.executable, "-m", "scicore.engine.calling", directory])

    def _ask(self, seats: Sequence[Seat], words: Callable[[str], Sequence[str]]) -> dict[str, str]:
        """Run a command on every host, all at once; returns why not, where it failed."""
        addresses = list(dict.fromkeys(s.address for s in seats if s.address not in _HERE))
        with ThreadPoolExecutor(AT_ONCE) as pool:
            answers = pool.map(lambda address: self._ask_one(address, words(address)), addresses)
            return {address: why for address, why in zip(addresses, answers, strict=True) if why}

    def reaching(self, address: str, words: Sequence[str]) -> list[str]:
        """The command that runs another one on a host."""
        if address in _HERE:
            return list(words)
        return [*shlex.split(self._agent), address, shlex.join(words)]

    def _ask_one(self, address: str, words: Sequence[str]) -> str:
        try:
            done = subprocess.run(
                self.reaching(address, words),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=ANSWER_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"no answer within {ANSWER_S:g} s"
        except FileNotFoundError:
            return "there is no ssh program on this computer"
        said = done.stderr.decode(errors="replace").strip().splitlines()
        return (said[-1] if said else f"exit code {done.returncode}") if done.returncode else ""


@contextmanager
def listening(addresses: Iterable[str]) -> Iterator[dict[str, tuple[str, ...]]]:
    """For each host, where it can try to reach us: address and port; nothing, where the name is
    SSH's alone. Whoever connects is not spoken to."""
    with ExitStack() as stack:
        ports: dict[str, str] = {}
        lines: dict[str, tuple[str, ...]] = {}
        for host in addresses:
            own = _own_address(host)
            if own and own not in ports:
                listener = stack.enter_context(socket.socket())
                listener.bind((own, 0))
                listener.listen(256)
                ports[own] = str(listener.getsockname()[1])
            lines[host] = (own, ports[own]) if own else ()
        yield lines


def _own_address(host: str) -> str:
    """From which we speak to the host. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((host, 22))
        except OSError:
            return ""
        return str(probe.getsockname()[0])


def hosts_of_run(directory: str, file: Path | None, catalog: Mapping[str, VmType]) -> Hosts | None:
    """For a run that is taken up again: as it was started, unless another hostfile is given."""
    before = seating.last(directory)
    storage = before.storage if before else ""
    if file is not None:
        return Hosts(file, catalog, storage)
    return Hosts(Path(before.hostfile), catalog, storage) if before and before.hostfile else None


def _absent(before: Seating | None, fleet: Fleet, seats: Sequence[Seat]) -> tuple[Vm, ...]:
    """VMs that came after the plan, and are not there now."""
    here = {vm.id for vm in fleet.vms} | {seat.vm.id for seat in seats}
    return tuple(vm for vm in (before.everyone if before else ()) if vm.id not in here)


def _agent(directory: Path, config: str) -> str:
    """SSH that never asks, never trusts a stranger, and notices a host that is gone.

    mpirun splits the command at blanks, which the user's paths may hold: so settings of our own,
    in a place without any, include the user's.
    """
    chosen = directory / config if config else Path.home() / ".ssh/config"
    if config and not chosen.exists():
        raise UsageError(f"the hostfile's ssh-config {chosen} is not there")
    text = _SSH.format(config=f'"{chosen}"')
    place = private_place() / f"ssh-{_digest(text)}"
    place.write_text(text)
    place.chmod(0o600)
    return f"ssh -F {place}"


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
