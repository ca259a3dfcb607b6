#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The first process of a node, in its namespaces: node.sh NAME RUN CPUS ISOLATION. Slurm's daemon takes its place.
set -eu
hostname "$1"
mount --bind "$2/hosts" /etc/hosts
if [ "$4" = all ]; then mount -t tmpfs tmpfs /dev/shm; fi
exec taskset -c "$3" slurmd -D -N "$1"
