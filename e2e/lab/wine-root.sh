#!/bin/bash
# wine-root.sh - Wine 10 in a Debian 13 of its own (the Wine 8 of Debian 12 lacks a library that the agent needs).
# As root; makes the root file system once (1.4 GB, 3 min). Prints its folder.
set -euo pipefail; . "$(dirname "$0")/env.sh"; root; need debootstrap
to=$LAB/wine
if [ ! -e "$to/.complete" ]; then
  mkdir -p "$LAB"
  rm -rf --one-file-system "$to"
  debootstrap --variant=minbase --include=wine64,ca-certificates trixie "$to" > "$LAB/wine.log" 2>&1 ||
    die "debootstrap failed: $(tail -n 3 "$LAB/wine.log")"
  touch "$to/.complete"
fi
echo "$to"
