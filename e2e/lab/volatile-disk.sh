#!/bin/bash
# volatile-disk.sh - a real ext4 of the host's kernel on a disk that loses what was not flushed, without an emulated machine.
#   volatile-disk.sh on DIR            makes it (1.5 GB, sparse) or takes it as it is; mounted at DIR/mnt
#   volatile-disk.sh cut DIR [SEED]    its power fails, now: of what was not flushed nothing survives, or by SEED every second 4 KiB block
#   volatile-disk.sh off DIR           after a cut, when nothing uses it any more: lets go of it
# loop device > file of nbdfuse > the disk server of vm.py, which keeps writes in its memory until they are flushed.
set -euo pipefail; . "$(dirname "$0")/env.sh"; root
[ $# -ge 2 ] || { sed -n '3,5p' "$0"; exit 2; }
op=$1 D=$(realpath -m "$2")
until_() { local i; for ((i = 0; i < 300; i++)); do "$@" && return 0; sleep .1; done; die "gave up: $*"; }
case $op in
on)
  need nbdfuse fusermount3 losetup mkfs.ext4 python3; mkdir -p "$D/fuse" "$D/mnt"
  [ -e "$D/disk.qcow2" ] || { truncate -s 1500M "$D/disk.qcow2"; mkfs.ext4 -q -F "$D/disk.qcow2"; }    # raw, whatever its name
  rm -f "$D/disk.sock" "$D/keep"
  setsid python3 "$HERE/vm.py" _nbd "$D" </dev/null >/dev/null 2>>"$D/disk.log" &
  until_ test -S "$D/disk.sock"
  setsid nbdfuse "$D/fuse/disk" --unix "$D/disk.sock" </dev/null >/dev/null 2>>"$D/disk.log" & echo $! > "$D/pid"
  until_ test -e "$D/fuse/disk"
  losetup -f --show "$D/fuse/disk" > "$D/loop"
  mount -t ext4 "$(cat "$D/loop")" "$D/mnt";;
cut)
  n=$(wc -l < "$D/disk.log"); [ -z "${3-}" ] || echo "$3" > "$D/keep"
  kill -9 "$(cat "$D/pid" 2>/dev/null)" 2>/dev/null || exit 0     # without power already
  logged() { [ "$(wc -l < "$D/disk.log")" -gt "$n" ]; }; until_ logged; tail -n 1 "$D/disk.log";;
off)
  umount "$D/mnt" 2>/dev/null || umount -l "$D/mnt" 2>/dev/null || true
  [ ! -s "$D/loop" ] || losetup -d "$(cat "$D/loop")" 2>/dev/null || true
  kill -9 "$(cat "$D/pid")" 2>/dev/null || true
  fusermount3 -u -z "$D/fuse" 2>/dev/null || true; rm -f "$D/loop" "$D/pid";;
*) die "unknown: $op";;
esac
