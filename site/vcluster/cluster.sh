#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a real Slurm cluster on this machine. Needs root. Each node n1, n2, … has its own namespaces (network, processes,
# shared memory, mounts, host name). Links with a configured rate and delay connect the nodes to a bridge. With PORTS=2
# each node has eth0 and eth1, each with its own bridge; Slurm uses eth0.
#
#   cluster.sh up             NODES=2 CPUS=… PORTS=1 RATE=1000 (Mbit/s) DELAY_US=0 ISOLATION=all SWITCHES=0
#                             does nothing if this cluster is up, and exits with 2 if another one is
#   cluster.sh down           removes the cluster, and anything that a killed `up` left
#   cluster.sh status         exits with 0 if the cluster is up
#   cluster.sh rate NODE MBIT sets the rate of the links of one node, in both directions
#   cluster.sh kill NODE      kills a node; `revive NODE` starts it again
#
# With SWITCHES=2 Slurm has a topology of two switches, leaf1 and leaf2, with half of the nodes each, below a third. The
# links stay as they are. With ISOLATION=network the nodes share memory and processes: MPI stacks then copy between nodes through memory.
set -euo pipefail

run=/run/fabricbench-vcluster
net=10.77 # prefix, the port number follows
bridge=fbvc # prefix, the port number follows
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck disable=SC1091
. "$here/../cluster_functions.sh" vcluster "$run" FABRICBENCH_VCLUSTER 10
export SLURM_CONF=$run/slurm.conf

need() {
  [ "$(id -u)" = 0 ] || fail "namespaces need root; run it as root"
  local missing=()
  for program in slurmctld slurmd munged ip tc nsenter unshare; do
    command -v "$program" >/dev/null || missing+=("$program")
  done
  ((${#missing[@]} == 0)) && return
  command -v apt-get >/dev/null || fail "not found: ${missing[*]}; install Slurm, munge and iproute2"
  echo "installing Debian's slurm-wlm, munge and iproute2"
  DEBIAN_FRONTEND=noninteractive apt-get -qq update
  DEBIAN_FRONTEND=noninteractive apt-get -qq -y install --no-install-recommends slurm-wlm munge libpmi2-0 iproute2 \
    >/dev/null
}

shape() { # NODE MBIT: sets the rate of each link in both directions, because a shaper limits only outgoing traffic
  local port burst=$((64 + $2 / 8)) # KiB, at least half a millisecond
  for ((port = 0; port < PORTS; port++)); do
    tc qdisc replace dev "fbvc-$1-$port" root tbf rate "$2mbit" burst "${burst}kb" latency 50ms
    ip netns exec "fbvc-$1" tc qdisc replace dev "eth$port" root tbf rate "$2mbit" burst "${burst}kb" latency 50ms
  done
}

bridges() {
  local port
  for ((port = 0; port < PORTS; port++)); do
    ip link add "$bridge$port" type bridge
    ip addr add "$net.$port.254/24" dev "$bridge$port"
    ip link set "$bridge$port" up
  done
}

connect() { # NUMBER
  local node=n$1 port
  ip netns add "fbvc-$node"
  ip -n "fbvc-$node" link set lo up
  for ((port = 0; port < PORTS; port++)); do plug "$node" "$1" "$port"; done
  shape "$node" "$RATE"
}

plug() { # NODE NUMBER PORT: links the port of the node to its bridge
  local space=fbvc-$1 outer=fbvc-$1-$3 inner=eth$3
  if ((DELAY_US)); then
    # Many kernels lack netem, so a program copies each frame from one TAP device to another. The path from node to
    # node has two such links.
    "$run/delay_link" $((DELAY_US / 2)) "$outer" "/run/netns/$space" "$inner" </dev/null >"$run/log/link.$1-$3" 2>&1 &
    within 5 ip -n "$space" link show "$inner" || fail "no link with a delay: $(cat "$run/log/link.$1-$3")"
  else
    ip link add "$outer" type veth peer name "$inner" netns "$space"
  fi
  ip link set "$outer" master "$bridge$3" up
  ip -n "$space" addr add "$net.$3.$2/24" dev "$inner"
  ip -n "$space" link set "$inner" up
}

start_node() { # NODE
  local cpus isolate=(--uts --mount)
  [ "$ISOLATION" = all ] && isolate+=(--ipc --pid --mount-proc)
  cpus=$(((${1#n} - 1) * CPUS))
  cpus=$cpus-$((cpus + CPUS - 1))
  # Nodes that share processors may use all of them. On one shared processor, busy-waiting ranks would block each other.
  if ((NODES * CPUS > $(nproc))); then cpus=0-$(($(nproc) - 1)); fi
  # Uses nsenter, because `ip netns exec` mounts a /sys without the control groups that slurmd needs.
  nsenter --net="/run/netns/fbvc-$1" setsid unshare "${isolate[@]}" --fork --kill-child \
    "$here/node.sh" "$1" "$run" "$cpus" "$ISOLATION" </dev/null >"$run/log/$1.out" 2>&1 &
}

configure() {
  local i last=n[1-$NODES]
  cat >"$run/slurm.conf" <<CONF
ClusterName=vcluster
SlurmctldHost=$(hostname -s)($net.0.254)
SlurmctldPort=16817
SlurmdPort=16818
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$run/munge/socket
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
ReturnToService=2
SlurmdTimeout=10
KillWait=5
JobRequeue=0
CompleteWait=0
SchedulerParameters=batch_sched_delay=0,sched_interval=2
StateSaveLocation=$run/state
SlurmdSpoolDir=$run/spool.%n
TmpFS=$run/tmp.%n
SlurmctldPidFile=$run/slurmctld.pid
SlurmdPidFile=$run/slurmd.%n.pid
SlurmctldLogFile=$run/log/slurmctld
SlurmdLogFile=$run/log/slurmd.%n
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
CONF
  for i in $(seq "$NODES"); do
    echo "NodeName=n$i NodeHostname=n$i NodeAddr=$net.0.$i CPUs=$CPUS RealMemory=1000 State=UNKNOWN" >>"$run/slurm.conf"
    echo "$net.0.$i n$i" >>"$run/hosts"
    mkdir -p "$run/tmp.n$i"
  done
  echo "PartitionName=gige Nodes=$last Default=YES MaxTime=120 OverSubscribe=NO State=UP" >>"$run/slurm.conf"
  if ((SWITCHES)); then switches; fi
  echo "127.0.0.1 localhost" >>"$run/hosts"
  echo "$net.0.254 $(hostname -s)" >>"$run/hosts"
  request >"$run/vcluster.env"
}

request() { # prints the variables of `up`
  printf 'NODES=%s\nCPUS=%s\nPORTS=%s\nRATE=%s\nDELAY_US=%s\nISOLATION=%s\nSWITCHES=%s\n' \
    "$NODES" "$CPUS" "$PORTS" "$RATE" "$DELAY_US" "$ISOLATION" "$SWITCHES"
}

running() { [ -e "$run/complete" ] && scontrol ping 2>/dev/null | grep -q 'is UP'; }

# Returns if no cluster is up. Exits with 0 if the requested one is up, with 2 if another one is, or a changed one.
demand_no_other() {
  running || return 0
  local now state
  now=$(xargs <"$run/vcluster.env")
  state=$(sinfo -h -t down,fail -o %n | xargs)
  [ "$now" = "$(request | xargs)" ] || fail "another cluster is up: $now; first: cluster.sh down"
  [ -z "$state" ] || fail "this cluster is up, without $state; first: cluster.sh down, or cluster.sh revive NODE"
  [ ! -e "$run/changed" ] || fail "this cluster is up with changed rates; first: cluster.sh down"
  echo "vcluster: this cluster is up already: $now; export SLURM_CONF=$SLURM_CONF"
  exit 0
}

switches() { # describes switches with equally many nodes, and one above them
  local i first last=0
  echo "TopologyPlugin=topology/tree" >>"$run/slurm.conf"
  for i in $(seq "$SWITCHES"); do
    first=$((last + 1)) last=$((NODES * i / SWITCHES))
    echo "SwitchName=leaf$i Nodes=n[$first-$last]" >>"$run/topology.conf"
  done
  echo "SwitchName=core Switches=leaf[1-$SWITCHES]" >>"$run/topology.conf"
}

starts_ranks() {
  timeout 20 srun --quiet --immediate=10 --nodes="$NODES" --ntasks-per-node=1 true >>"$run/log/first_job" 2>&1
}

idle_node() { [ "$(sinfo -h -n "$1" -o %T)" = idle ]; }

up() {
  NODES=${NODES:-2} PORTS=${PORTS:-1} RATE=${RATE:-1000} DELAY_US=${DELAY_US:-0} ISOLATION=${ISOLATION:-all}
  SWITCHES=${SWITCHES:-0}
  whole NODES "$NODES" 1 64
  whole SWITCHES "$SWITCHES" 0 "$NODES"
  CPUS=${CPUS:-$(($(nproc) > NODES ? $(nproc) / NODES : 1))}
  whole CPUS "$CPUS" 1 1024
  whole PORTS "$PORTS" 1 8
  whole RATE "$RATE" 1 100000
  whole DELAY_US "$DELAY_US" 0 1000000
  [[ $ISOLATION =~ ^(all|network)$ ]] || fail "ISOLATION is '$ISOLATION'; expected all or network"
  need
  demand_no_other
  clean # removes the remains of an `up` that was killed
  trap clean EXIT
  trap 'exit 130' INT TERM
  mkdir -p "$run"/{log,state}
  chmod 755 "$run"
  bridges
  if ((DELAY_US)); then
    cc -O2 -Wall -Wextra -o "$run/delay_link" "$here/delay_link.c" || fail "the link with a delay needs a C compiler"
  fi
  configure
  local i
  for i in $(seq "$NODES"); do connect "$i"; done
  start_munge
  slurmctld
  for i in $(seq "$NODES"); do start_node "n$i"; done
  within 30 idle || fail "the nodes do not come up: $(sinfo -h -N -o '%N %T' | xargs); see $run/log before it is gone: \
$(tail -qn2 "$run"/log/slurmd.* 2>/dev/null | xargs -0 || true)"
  # An idle node can still refuse its first job on a busy machine.
  starts_ranks || starts_ranks || starts_ranks || fail "a job does not start on all nodes; see $run/log before it is gone"
  within 30 idle || fail "the nodes do not become idle after a first job: $(sinfo -h -N -o '%N %T' | xargs)"
  touch "$run/complete"
  trap - EXIT INT TERM
  echo "vcluster: $NODES nodes of $CPUS CPUs, $PORTS ports of $RATE Mbit/s, $DELAY_US us one way; export SLURM_CONF=$SLURM_CONF"
}

members() { # prints the PIDs of the cluster's processes
  # The kernel ends all processes of a PID namespace with its first process; `unshare` ends too (--kill-child).
  cluster_processes
  ip netns list 2>/dev/null | sed -n 's/^\(fbvc-n[0-9]*\).*/\1/p' | xargs -r -n1 ip netns pids
}

clean() {
  local name
  kill_all 40 members >/dev/null
  for name in $(ip netns list 2>/dev/null | sed -n 's/^\(fbvc-n[0-9]*\).*/\1/p'); do ip netns del "$name"; done
  for name in $(ip -o link show 2>/dev/null | sed -n 's/^[0-9]*: \(fbvc[-0-9n]*\)[:@].*/\1/p'); do
    ip link del "$name" 2>/dev/null || true # the removal of one end also removes the other
  done
  rm -rf "$run"
}

known() {
  [ -f "$run/vcluster.env" ] || fail "it is not up; make vcluster-up"
  # shellcheck disable=SC1091
  . "$run/vcluster.env"
  [ -z "${1-}" ] || [[ $1 =~ ^n[0-9]+$ && -e /run/netns/fbvc-$1 ]] ||
    fail "no node is called '$1'; expected n1 to n$NODES"
}

case ${1-} in
  up) up ;;
  down)
    [ "$(id -u)" = 0 ] || fail "namespaces need root; run it as root"
    clean
    ;;
  status)
    known
    sinfo -N -o '%N %T %c CPUs %E'
    idle
    ;;
  rate)
    whole MBIT "${3-}" 1 100000
    known "${2-none}"
    touch "$run/changed"
    shape "$2" "$3"
    ;;
  kill)
    known "${2-none}"
    for pid in $(ip netns pids "fbvc-$2"); do
      case $(cat "/proc/$pid/comm" 2>/dev/null) in delay_link) ;; *) kill -KILL "$pid" 2>/dev/null || true ;; esac
    done
    ;;
  revive)
    known "${2-none}"
    start_node "$2"
    within 20 idle_node "$2" || fail "$2 does not come back: $(sinfo -h -n "$2" -o '%T %E')"
    ;;
  *) fail "expected up, down, status, rate NODE MBIT, kill NODE or revive NODE; not '${1-}'" ;;
esac
