#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The first process of a node, in its namespaces: node.sh NAME RUN CPUS ISOLATION. It executes Slurm's daemon.
set -eu
hostname "$1"
mount --bind "$2/hosts" /etc/hosts
# Stacks find interfaces in /sys, which must not show those of the host; slurmd needs the control groups in it.
mkdir -p "$2/cgroup.$1"
mount --rbind /sys/fs/cgroup "$2/cgroup.$1"
mount -t sysfs sysfs /sys
mount --move "$2/cgroup.$1" /sys/fs/cgroup
if [ "$4" = all ]; then mount -t tmpfs tmpfs /dev/shm; fi
exec taskset -c "$3" slurmd -D -N "$1"
