#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a real Slurm whose nodes n1, n2, … are emulated machines (QEMU without KVM), as root on Debian 12. Each machine
# boots Debian's kernel 6.1. Its root is that of this host, read-only, below an overlay in memory; this checkout is
# shared for reading and writing. Each has three links, each to its bridge:
#   eth0  Slurm     eth1  RoCE (rxe0), TCP     eth2  iWARP (siw0)     eth3  Myrinet Express, with OPEN_MX only
#
#   cluster.sh up      NODES=2 CPUS=2 MEMORY=1500 (MB of a node) DELAY_US=0 RATE=0 (Mbit/s of a link; 0: no limit)
#                      OPEN_MX= (a source tree of Open-MX 1.5.4)
#   cluster.sh down    removes the cluster, and anything that a killed `up` left
#   cluster.sh status  exits with 0 if the cluster is up
#
# It installs missing Debian packages, and downloads Debian's kernel and its source (kernel.sh) without installing them.
set -euo pipefail

run=/run/fabricbench-rdma
net=10.78 # prefix, the port number follows
bridge=fbrd # prefix, the port number follows
ports=3 # 4 with Open-MX
here=$(cd "$(dirname "$0")" && pwd)
repo=$(cd "$here/../.." && pwd)
build=$repo/build/rdma
# shellcheck disable=SC1091
. "$here/../cluster_functions.sh" rdma "$run" FABRICBENCH_RDMA 5
export SLURM_CONF=$run/slurm.conf

PACKAGES=(qemu-system-x86 slurm-wlm munge libpmi2-0 iproute2 ibverbs-providers librdmacm1 perftest gcc make libelf1 xz-utils)
OPEN_MX_PACKAGES=(autoconf automake libtool python3) # to build it
BOOT_SECONDS=240

need() {
  [ "$(id -u)" = 0 ] || fail "bridges and TAP devices need root; run it as root"
  local package missing=()
  if [ -n "$OPEN_MX" ]; then PACKAGES+=("${OPEN_MX_PACKAGES[@]}"); fi
  command -v dpkg-query >/dev/null || fail "no dpkg-query; the cluster needs Debian 12"
  for package in "${PACKAGES[@]}"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done
  ((${#missing[@]} == 0)) && return
  echo "installing Debian's ${missing[*]}"
  DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 update
  DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 -y install --no-install-recommends \
    "${missing[@]}" >/dev/null
}

prepare_kernel() {
  local image=$build/initramfs.gz
  if [ -z "$OPEN_MX" ] && [ ! -e "$build/with-open-mx" ] && [ -e "$image" ] &&
    [ -z "$(find "$here/kernel.sh" "$here/init.sh" -newer "$image")" ]; then return; fi
  mkdir -p "$build"
  "$here/kernel.sh" "$build" "$OPEN_MX"
}

# The option by which the machines' kernel knows the rate of its clock. On a busy host it would measure a wrong one, the
# clocks of the machines would differ, and Slurm would refuse their messages ("Job credential expired").
clock_option() {
  local program=$build/tsc
  [ "$program" -nt "$here/tsc.c" ] || gcc -O -o "$program" "$here/tsc.c"
  echo "tsc_early_khz=$("$program")"
}

configure() {
  local i
  cat >"$run/slurm.conf" <<CONF
ClusterName=rdma
SlurmctldHost=$(hostname -s)($net.0.254)
SlurmctldPort=16827
SlurmdPort=16828
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$run/munge/socket
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
SwitchType=switch/none
ReturnToService=2
SlurmdTimeout=60
MessageTimeout=60
KillWait=5
JobRequeue=0
CompleteWait=0
SchedulerParameters=batch_sched_delay=0,sched_interval=2
PropagateResourceLimits=NONE
StateSaveLocation=$run/state
SlurmdSpoolDir=/run/slurmd.%n
TmpFS=/tmp
SlurmctldPidFile=$run/slurmctld.pid
SlurmdPidFile=/run/slurmd.%n.pid
SlurmctldLogFile=$run/log/slurmctld
SlurmdLogFile=$run/log/slurmd.%n
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
CONF
  printf 'CgroupPlugin=cgroup/v2\nIgnoreSystemd=yes\n' >"$run/cgroup.conf" # the machines have no systemd
  echo "127.0.0.1 localhost" >"$run/hosts"
  echo "$net.0.254 $(hostname -s)" >>"$run/hosts"
  for i in $(seq "$NODES"); do
    echo "NodeName=n$i NodeHostname=n$i NodeAddr=$net.0.$i CPUs=$CPUS RealMemory=$((MEMORY - 500)) State=UNKNOWN" \
      >>"$run/slurm.conf"
    echo "$net.0.$i n$i" >>"$run/hosts"
    echo "52:54:00:78:03:0$i n$i:0" >>"$run/mx.peers"
  done
  echo "PartitionName=rdma Nodes=n[1-$NODES] Default=YES MaxTime=120 OverSubscribe=NO State=UP" >>"$run/slurm.conf"
  printf '%s\n' "NODES=$NODES" "CPUS=$CPUS" "RATE=$RATE" "DELAY_US=$DELAY_US" "PORTS=$ports" \
    "OPEN_MX=$(printf %q "$build/open-mx")" >"$run/rdma.env"
  cp "$here/node.sh" "$run/"
}

bridges() {
  local port
  for ((port = 0; port < ports; port++)); do
    ip link add "$bridge$port" type bridge
    # The host needs an address on Slurm's network only.
    if ((port == 0)); then ip addr add "$net.0.254/24" dev "${bridge}0"; fi
    ip link set "$bridge$port" up
  done
}

start_machine() { # NUMBER CLOCK-OPTION
  local i=$1 clock=$2 port share=security_model=passthrough,multidevs=remap links=()
  for ((port = 0; port < ports; port++)); do
    local tap=$bridge-n$i-$port
    ip tuntap add "$tap" mode tap
    ip link set "$tap" mtu 9000 master "$bridge$port" up
    links+=(-netdev "tap,id=e$port,ifname=$tap,script=no,downscript=no")
    links+=(-device "virtio-net-pci,romfile=,netdev=e$port,mac=52:54:00:78:0$port:0$i,host_mtu=9000")
  done
  # Without no_timer_check, a boot without KVM sometimes stops.
  setsid qemu-system-x86_64 -accel tcg,thread=multi,tb-size=256 -cpu max -smp "$CPUS" -m "$MEMORY" -nodefaults \
    -no-user-config -display none -no-reboot -serial "file:$run/log/n$i.console" \
    -kernel "$build/vmlinuz" -initrd "$build/initramfs.gz" \
    -append "console=ttyS0 quiet panic=-1 clocksource=tsc tsc=reliable $clock no_timer_check mitigations=off net.ifnames=0 \
fb.node=n$i fb.repo=$repo fb.run=$run" \
    -fsdev "local,id=host,path=/,readonly=on,$share" -device virtio-9p-pci,fsdev=host,mount_tag=host \
    -fsdev "local,id=repo,path=$repo,$share" -device virtio-9p-pci,fsdev=repo,mount_tag=repo \
    -fsdev "local,id=run,path=$run,$share" -device virtio-9p-pci,fsdev=run,mount_tag=run \
    "${links[@]}" </dev/null >"$run/log/n$i.qemu" 2>&1 &
}

start() {
  local i clock
  clock=$(clock_option)
  mkdir -p "$run"/{log,state}
  bridges
  configure
  start_munge
  slurmctld
  for i in $(seq "$NODES"); do start_machine "$i" "$clock"; done
}

trouble() {
  sinfo -h -N -o '%N %T' 2>/dev/null | xargs
  tail -qn3 "$run"/log/n*.console "$run"/log/n*.qemu 2>/dev/null || true
}

up() {
  local begin=$SECONDS attempt
  NODES=${NODES:-2} CPUS=${CPUS:-2} MEMORY=${MEMORY:-1500} RATE=${RATE:-0} DELAY_US=${DELAY_US:-0}
  whole NODES "$NODES" 2 8
  whole CPUS "$CPUS" 1 16
  whole MEMORY "$MEMORY" 1000 1000000
  whole RATE "$RATE" 0 100000
  whole DELAY_US "$DELAY_US" 0 1000000
  OPEN_MX=${OPEN_MX:-}
  if [ -n "$OPEN_MX" ]; then
    [ -f "$OPEN_MX/driver/linux/omx_main.c" ] || fail "OPEN_MX is '$OPEN_MX'; expected a source tree of Open-MX 1.5.4"
    ports=4
  fi
  need
  prepare_kernel
  trap clean EXIT
  trap 'exit 130' INT TERM
  for attempt in first last; do
    clean # removes the remains of an earlier cluster
    start
    if within "$BOOT_SECONDS" idle; then break; fi
    [ $attempt = first ] || fail "the nodes do not come up: $(trouble)"
    echo "rdma: the nodes do not come up, second attempt: $(trouble)" >&2
  done
  trap - EXIT INT TERM
  echo "rdma: $NODES nodes of $CPUS CPUs after $((SECONDS - begin)) s; export SLURM_CONF=$SLURM_CONF"
}

gone() { # PID: an emulator needs some time to end after it was killed
  [ ! -e "/proc/$1" ] || grep -q '^State:[[:space:]]*[ZX]' "/proc/$1/status" 2>/dev/null
}

clean() {
  local pid name ended
  mapfile -t ended < <(kill_all 100 cluster_processes)
  for pid in "${ended[@]}"; do within 20 gone "$pid" || true; done
  for name in $(ip -o link show 2>/dev/null | sed -n "s/^[0-9]*: \(${bridge}[-0-9n]*\)[:@].*/\1/p"); do
    ip link del "$name" 2>/dev/null || true
  done
  rm -rf "$run"
}

known() {
  [ -f "$run/rdma.env" ] || fail "it is not up; make rdma-up"
  # shellcheck disable=SC1091
  . "$run/rdma.env"
}

case ${1-} in
  up) up ;;
  down)
    [ "$(id -u)" = 0 ] || fail "bridges and TAP devices need root; run it as root"
    clean
    ;;
  status)
    known
    sinfo -N -o '%N %T %c CPUs %E'
    idle
    ;;
  *) fail "expected up, down or status; not '${1-}'" ;;
esac
