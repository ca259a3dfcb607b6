#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# kernel.sh BUILD [OPEN-MX]: prepares what the machines boot, in the folder BUILD: Debian's kernel, and an initramfs of
# busybox, the modules and init.sh. Debian's kernel has no module of software iWARP, so siw is compiled from Debian's
# source. OPEN-MX is a source tree of Open-MX 1.5.4, whose driver and library are built too, the library in
# BUILD/open-mx. Packages are downloaded and unpacked below BUILD, not installed.
set -euo pipefail
build=$(realpath "$1")
open_mx=${2:+$(realpath "$2")}
here=$(cd "$(dirname "$0")" && pwd)
edits=$here/../../patches/open-mx-1.5.4-linux-6.py
cd "$build"

modules=(crc32_generic crc32c_generic virtio_pci virtio_net 9p 9pnet_virtio overlay rdma_rxe siw ib_uverbs rdma_ucm
  ib_umad sch_netem)

# The kernel that the package linux-image-amd64 depends on today.
image=$(apt-cache depends linux-image-amd64 | sed -n 's/ *Depends: \(linux-image-.*\)/\1/p')
[ -n "$image" ] || {
  echo "rdma: apt knows no linux-image-amd64; run apt-get update" >&2
  exit 2
}
abi=${image#linux-image-}
series=6.1
version=$(apt-cache show --no-all-versions "$image" | sed -n 's/^Version: //p')
tree=$build/root
library=$tree/lib/modules/$abi

unpack() {
  rm -rf version root siw debs
  mkdir -p root siw debs
  echo "downloading Debian's kernel $version and its source"
  (cd debs && apt-get -qq -o APT::Sandbox::User=root download "$image" "linux-headers-$abi" \
    "linux-headers-${abi%-amd64}-common" "linux-kbuild-$series" "linux-source-$series" busybox-static)
  local deb
  for deb in debs/*.deb; do dpkg-deb -x "$deb" root; done
  rm -r debs
}

compile_siw() {
  local source=root/usr/src/linux-source-$series.tar.xz headers=$tree/usr/src/linux-headers-$abi
  tar -C siw --strip-components=5 -xJf "$source" --wildcards '*/drivers/infiniband/sw/siw/*'
  rm "$source"
  sed -i "s#/usr/src/#$tree/usr/src/#" "$headers/Makefile" # an absolute path to the common headers
  make -s -C "$headers" M="$build/siw" CONFIG_RDMA_SIW=m modules >make.log 2>&1 || {
    echo "rdma: siw cannot be compiled: $(tail -n3 make.log)" >&2
    exit 2
  }
  strip -g siw/siw.ko
  mkdir -p "$library/extra"
  cp siw/siw.ko "$library/extra/"
  root/bin/busybox depmod -b root "$abi"
}

compile_open_mx() {
  local headers=$tree/usr/src/linux-headers-$abi common=$tree/usr/src/linux-headers-${abi%-amd64}-common
  rm -rf open-mx open-mx-build
  cp -r "$open_mx" open-mx-build
  python3 "$edits" open-mx-build
  echo "building Open-MX"
  (
    cd open-mx-build && ./autogen.sh &&
      ./configure --prefix="$build/open-mx" --disable-debug --disable-hwloc --with-linux="$common" \
        --with-linux-build="$headers" --with-linux-release="$abi" &&
      make -j2 && make install
  ) >open-mx.log 2>&1 || {
    echo "rdma: Open-MX cannot be built: $(grep -m1 'error: ' open-mx.log || tail -n1 open-mx.log); $build/open-mx.log" >&2
    exit 2
  }
  strip -g -o "$library/extra/open-mx.ko" open-mx-build/driver/linux/open-mx.ko
  rm -rf open-mx-build
  root/bin/busybox depmod -b root "$abi"
}

contents() { # a digest of Open-MX's tree, of the script that changes it, and of the kernel
  echo "$version"
  (cd "$open_mx" && find . -type f -not -path './.git/*' -exec sha256sum {} + | sort) | sha256sum
  sha256sum <"$edits"
}

make_initramfs() {
  local module
  rm -rf initramfs
  mkdir -p initramfs/{bin,dev,proc,sys,lower,rw,new} "initramfs/lib/modules/$abi"
  cp root/bin/busybox initramfs/bin/
  ln -s busybox initramfs/bin/sh
  install -m 755 "$here/init.sh" initramfs/init
  for module in "${modules[@]}"; do # each line of modules.dep: a module, and the modules that it needs
    sed -n "s#^\([^ ]*/$module\.ko\): *\(.*\)#\1 \2#p" "$library/modules.dep" | tr ' ' '\n'
  done | sort -u | sed '/^$/d' | (cd "$library" && xargs cp --parents -t "$build/initramfs/lib/modules/$abi")
  root/bin/busybox depmod -b initramfs "$abi"
  echo "${modules[*]}" >initramfs/modules
  (cd initramfs && find . | bin/busybox cpio -o -H newc 2>/dev/null | gzip -1) >initramfs.new
  mv initramfs.new initramfs.gz
  ln -sf "root/boot/vmlinuz-$abi" vmlinuz
}

if [ "$(cat version 2>/dev/null)" != "$version" ]; then
  unpack
  compile_siw
  echo "$version" >version
fi
rm -f with-open-mx
if [ -n "$open_mx" ]; then
  if [ "$(cat open-mx/contents 2>/dev/null)" != "$(contents)" ]; then
    compile_open_mx
    contents >open-mx/contents
  fi
  modules+=(open-mx)
  touch with-open-mx
fi
make_initramfs
