#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# node.sh NAME RUN: configures the links and RDMA devices of a machine as its first process, then runs slurmd.
node=$1 run=$2 number=${1#n}
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
# shellcheck disable=SC1091
. "$run/rdma.env"
hostname "$node"
cp "$run/hosts" /etc/hosts
# slurmd expects the control group that systemd would have made.
mount -t cgroup2 cgroup2 /sys/fs/cgroup && mkdir -p /sys/fs/cgroup/system.slice
# shellcheck disable=SC3045 # Debian's sh has it
ulimit -l unlimited # RDMA locks memory
mkdir -p "/run/slurmd.$node"
ip link set lo up
for port in $(seq 0 $((PORTS - 1))); do
  ip addr add "10.78.$port.$number/24" dev "eth$port"
  ip link set "eth$port" mtu 1500 up
done
ip link set eth1 mtu 9000 # for a RoCE MTU of 4096
ip -6 addr add "fd78:1::$number/64" dev eth1 nodad # UCX 1.13's datagrams over RoCE need a GID of IPv6
for port in $(seq 1 $((PORTS - 1))); do
  [ "$RATE$DELAY_US" = 00 ] && continue
  limits="delay ${DELAY_US}us"
  [ "$RATE" = 0 ] || limits="$limits rate ${RATE}mbit"
  # shellcheck disable=SC2086 # several words
  tc qdisc add dev "eth$port" root netem limit 10000 $limits || echo "node: no rate or delay on eth$port"
done
rdma link add rxe0 type rxe netdev eth1 || echo "node: no rxe0"
rdma link add siw0 type siw netdev eth2 || echo "node: no siw0"
echo "10.78.2.$number" >/etc/mv2.conf # MVAPICH2 over iWARP uses this address
if [ "$PORTS" = 4 ]; then
  ip link set eth3 mtu 9000
  echo eth3 >/sys/module/open_mx/parameters/ifnames
  "$OPEN_MX/bin/omx_init_peers" -d "$run/mx.peers" || echo "node: no Open-MX"
fi
chmod 666 /dev/infiniband/* /dev/open-mx 2>/dev/null
munge=$run/munge # the host's key, with a socket of this machine
cp "$munge/key" /run/key && mount -t tmpfs tmpfs "$munge" && mv /run/key "$munge/key"
chown -R munge:munge "$munge" && chmod 400 "$munge/key"
su munge -s /bin/sh -c "umask 022; exec munged --socket=$munge/socket --pid-file=$munge/pid --log-file=$munge/log \
  --seed-file=$munge/seed --key-file=$munge/key"
echo "node: up $(cut -d' ' -f1 /proc/uptime)"
SLURM_CONF=$run/slurm.conf slurmd -D -N "$node"
echo "node: slurmd ended with $?"
sleep 5
poweroff -f
