#!/bin/bash
# build-image-arm64.sh - builds a machine of another processor: Debian arm64 with systemd and its own kernel. Run as root, after setup.sh --arm64.
#   $PLATFORM_LAB/arm64 (default ~/.cache/platform-lab/arm64) gets: vmlinux initrd.gz base.qcow2 arch id build.log
#   SUITE=bookworm; DISK=3G; BUILD=folder for 2.5 GB of temporary files; --if-missing: nothing if an image of these sources exists
#   PLATFORM_LAB=~/.cache/platform-lab/arm64 vm.py … then starts its machines: a wired network, no radios.
# Packages are configured by their own programs under user emulation; the kernel finds the emulator by binfmt_misc.
set -euo pipefail; . "$(dirname "$0")/env.sh"; root
need qemu-img qemu-aarch64-static mmdebstrap mke2fs unshare setpriv
OUT=$LAB/arm64 SUITE=${SUITE:-bookworm}
mkdir -p "$OUT"; exec 9>"$OUT/build.lock"; flock -w 3600 9 || die 'another build has been running for an hour'
SOURCES=$( (cat "$HERE/build-image-arm64.sh"; echo "$SUITE ${DISK-}") | sha256sum)
[ "${1-}" = --if-missing ] && [ -e "$OUT/base.qcow2" ] && [ "$(cat "$OUT/sources" 2>/dev/null)" = "$SOURCES" ] && exit 0
PKGS=systemd,systemd-sysv,udev,dbus,kmod,iproute2,procps,qemu-guest-agent,curl,ca-certificates,openssl,initramfs-tools,zstd,linux-image-arm64
free=$(df --output=avail -k /dev/shm 2>/dev/null | tail -1); [ "${free:-0}" -gt 4000000 ] && b=/dev/shm || b=$OUT
W=$(mktemp -d -p "${BUILD:-$b}" lab.XXXX); trap 'rm -rf "$W"' EXIT; trap 'exit 130' INT TERM
t() { printf '%5ds  %s\n' $SECONDS "$1"; }
uris=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(ORIGIN)' 'Identifier: Packages' | sort -u)
src() { awk -v c="$1" '$2 == c && $3 == "Debian" {print "deb " $1 " " c " main"; exit}' <<<"$uris"; }
main=$(src "$SUITE") sec=$(src "$SUITE-security"); [ -n "$main" ] || die "apt here knows no Debian $SUITE: set SUITE, or run apt-get update"

# 1. where programs for arm64 run: everywhere if the host is set up for it, else in a user namespace with its own binfmt_misc (Linux 6.7)
binfmt=/proc/sys/fs/binfmt_misc
emulating() { local p; grep -qs enabled $binfmt/qemu-aarch64 && { "$@"; return; }
  mkfifo "$W/mapped"
  unshare --user --mount --propagation private bash -c 'read -r _ < "$0" && exec setpriv --reuid 0 --regid 0 --clear-groups bash -c "
    mount -t binfmt_misc b '$binfmt' && cat /usr/lib/binfmt.d/qemu-aarch64.conf > '$binfmt'/register && exec \"\$@\"" in "$@"' "$W/mapped" "$@" & p=$!
  for ((i = 0; i < 500; i++)); do [ "$(readlink /proc/$p/ns/user)" = "$(readlink /proc/self/ns/user)" ] || break; sleep .02; done
  echo '0 0 65536' > /proc/$p/uid_map; echo '0 0 65536' > /proc/$p/gid_map; echo > "$W/mapped"
  wait $p || die "failed: ${*: -4:1}; if binfmt_misc is the reason, restart systemd-binfmt. Log: $OUT/build.log"; }

# 2. root file system. Its initrd has three modules: the others would be unpacked by the emulated processor at every start
cat > "$W/initrd" <<'I'
mkdir -p "$1/etc/initramfs-tools/conf.d"; printf 'MODULES=list\nCOMPRESS=gzip\n' > "$1/etc/initramfs-tools/conf.d/lab"
printf 'virtio_pci\nvirtio_blk\next4\n' > "$1/etc/initramfs-tools/modules"
I
drivers=(); for x in gpu media net/wireless net/ethernet infiniband scsi iio usb staging hwmon mtd mfd input; do drivers+=(--dpkgopt="path-exclude=/lib/modules/*/kernel/drivers/$x/*"); done
R=$W/r; emulating mmdebstrap --mode=root --skip=check/qemu --arch=arm64 --variant=minbase --include="$PKGS" \
  --aptopt='Acquire::Languages "none"' --dpkgopt=force-unsafe-io --dpkgopt=force-confold --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
  --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/lib/modules/*/kernel/sound/*' "${drivers[@]}" --essential-hook="sh $W/initrd" \
  "$SUITE" "$R" "$main" ${sec:+"$sec"} > "$OUT/build.log" 2>&1
t "root file system ($(du -sh "$R" | cut -f1))"
echo testdev > "$R/etc/hostname"; printf '127.0.0.1 localhost\n127.0.1.1 testdev\n10.0.2.100 app.platform.test\n' > "$R/etc/hosts"
echo '/dev/vda / ext4 rw,noatime 0 1' > "$R/etc/fstab"; sed -i 's/^root:[^:]*:/root::/' "$R/etc/shadow"
echo b08dfa6083e7567a1921a715000001fc > "$R/etc/machine-id"
printf '[Match]\nName=en*\n[Network]\nDHCP=ipv4\nLinkLocalAddressing=no\n' > "$R/etc/systemd/network/lab.network"
for u in systemd-binfmt.service systemd-firstboot.service systemd-networkd-wait-online.service sys-kernel-tracing.mount sys-kernel-debug.mount dev-hugepages.mount \
  modprobe@drm.service modprobe@efi_pstore.service modprobe@loop.service systemd-pstore.service; do ln -sf /dev/null "$R/etc/systemd/system/$u"; done
for u in e2scrub_reap.service e2scrub_all.timer fstrim.timer apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer getty@tty1.service; do rm -f "$R"/etc/systemd/system/*.wants/$u; done
mkdir -p "$R/etc/systemd/system/multi-user.target.wants"
ln -sf /lib/systemd/system/systemd-networkd.service "$R/etc/systemd/system/multi-user.target.wants/"
ln -sf /lib/systemd/system/multi-user.target "$R/etc/systemd/system/default.target"

# 3. kernel, initrd, disk; all at once: machines that run keep the old files, which are only unlinked
cp "$R"/boot/vmlinuz-* "$W/vmlinux"; cp "$R"/boot/initrd.img-* "$W/initrd.gz"
truncate -s "${DISK:-3G}" "$W/disk.raw"; mke2fs -q -t ext4 -L root -d "$R" "$W/disk.raw"
qemu-img convert -O qcow2 "$W/disk.raw" "$OUT/new.qcow2"
mv "$W/vmlinux" "$W/initrd.gz" "$OUT/"; mv "$OUT/new.qcow2" "$OUT/base.qcow2"
echo arm64 > "$OUT/arch"; date +%s%N > "$OUT/id"; echo "$SOURCES" > "$OUT/sources"
t "base.qcow2 ($(du -h "$OUT/base.qcow2" | cut -f1))"
