#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The first process of a machine, in the initramfs: loads the modules, makes the host's files the root below an overlay
# in memory, and continues with node.sh. The kernel's command line has fb.node, fb.repo and fb.run.
/bin/busybox --install -s /bin
export PATH=/bin:/sbin:/usr/bin:/usr/sbin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
# shellcheck disable=SC2013 # words, not lines
for module in $(cat /modules); do modprobe "$module" || echo "init: no module $module"; done
node=$(sed 's/.*fb.node=\([^ ]*\).*/\1/' /proc/cmdline)
repo=$(sed 's/.*fb.repo=\([^ ]*\).*/\1/' /proc/cmdline)
run=$(sed 's/.*fb.run=\([^ ]*\).*/\1/' /proc/cmdline)

share=trans=virtio,version=9p2000.L,msize=512000
mount -t 9p -o "ro,cache=loose,$share" host /lower
mount -t tmpfs rw /rw
mkdir /rw/upper /rw/work
mount -t overlay -o lowerdir=/lower,upperdir=/rw/upper,workdir=/rw/work overlay /new
mkdir -p "/new$repo"
mount -t 9p -o "cache=none,$share" repo "/new$repo" # without cache: the host writes it too
for system in dev proc sys; do mount --move "/$system" "/new/$system"; done
mount -t tmpfs tmpfs /new/run
mkdir -p "/new$run"
mount -t 9p -o "cache=none,$share" run "/new$run"
mount -t tmpfs tmpfs /new/dev/shm
mount -t devpts devpts /new/dev/pts
exec switch_root /new /bin/sh "$run/node.sh" "$node" "$run"
