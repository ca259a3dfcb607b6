#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# node.sh NAME RUN CPUS ISOLATION: prepares the namespaces of a node as its first process, then executes slurmd.
set -eu
hostname "$1"
mount --bind "$2/hosts" /etc/hosts
# MPI stacks read network interfaces from /sys, so it must not show those of the host. slurmd needs its control groups.
mkdir -p "$2/cgroup.$1"
mount --rbind /sys/fs/cgroup "$2/cgroup.$1"
mount -t sysfs sysfs /sys
mount --move "$2/cgroup.$1" /sys/fs/cgroup
if [ "$4" = all ]; then mount -t tmpfs tmpfs /dev/shm; fi
exec taskset -c "$3" slurmd -D -N "$1"
