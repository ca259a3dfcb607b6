# SPDX-License-Identifier: Apache-2.0
"""Runs a real ``slurmctld`` for the nodes of ``large_site``, as root and without ``slurmd``.

The nodes are powered-down cloud nodes, so the controller accepts jobs and starts none of them. It listens on a loopback
port, and all its files are in one folder. ``munged`` and ``slurmctld`` have their own process namespace. The kernel
kills its first process when the parent ends, and then all others in the namespace.
"""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.large_site import CORES, MEMORY_BYTES, NODES
from support.processes import marked, no_namespaces, parent, wait_until

CONFIGURATION = """\
ClusterName=large
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
CommunicationParameters=NoCtldInAddrAny
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
# With it sinfo lists nodes that are powered down.
PrivateData=cloud
ResumeProgram=/bin/true
SuspendProgram=/bin/true
SuspendTime=INFINITE
NodeName=n[1-{nodes}] CPUs={cores} RealMemory={memory} State=CLOUD
PartitionName=all Nodes=n[1-{nodes}] State=UP
PartitionName=half Nodes=n[1-{half}] State=UP
"""
START = """\
munged --force --socket=munge.socket --key-file=munge.key --seed-file=munge.seed --pid-file=munge.pid \\
    --log-file=munge.log
exec slurmctld -D
"""
"""munged --force accepts a directory that only root can read."""


def impossible() -> str:
    """Returns why no controller can run on this machine; empty if one can."""
    return no_namespaces("slurmctld", "munged", "sinfo", "sbatch", "setpriv", "unshare")


@contextmanager
def controller(folder: Path, nodes: int = NODES, cores: int = CORES) -> Iterator[Path]:
    """Runs a controller in ``folder`` and yields its ``slurm.conf``. The partition ``half`` has half of the nodes."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    values = {"nodes": nodes, "half": max(1, nodes // 2), "cores": cores, "memory": MEMORY_BYTES // 2**20}
    host = socket.gethostname().partition(".")[0]
    text = CONFIGURATION.format(host=host, port=port, folder=folder, **values)
    (folder / "state").mkdir(parents=True)
    (folder / "slurm.conf").write_text(text)
    (folder / "munge.key").write_bytes(os.urandom(128))
    (folder / "munge.key").chmod(0o400)
    with (folder / "out").open("w") as out:
        process = subprocess.Popen(
            [*("setpriv", "--pdeathsig", "KILL", "unshare", "--pid", "--fork", "--kill-child"), "sh", "-ec", START],
            env={**os.environ, "SLURM_CONF": str(folder / "slurm.conf")},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
        )

    def up() -> bool:
        assert process.poll() is None, (folder / "out").read_text()
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", port)) == 0

    try:
        wait_until(up, "slurmctld")
        yield folder / "slurm.conf"
    finally:
        for pid in marked(f"SLURM_CONF={folder / 'slurm.conf'}"):
            if parent(pid) == process.pid:  # its parent `unshare` then ends too, and leaves no zombie
                os.kill(pid, signal.SIGKILL)
        process.wait(10)
