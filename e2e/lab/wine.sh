#!/bin/sh
# The Windows agent as a service, in Wine 10 of Debian 13 (Wine 8 of Debian 12 lacks a library that it needs). As root, with
# debootstrap; makes its own Debian once (1.4 GB).
#   usage: wine.sh platform-agent-<version>-windows-amd64.exe
set -eu
program=$(realpath "$1")
lab=${PLATFORM_LAB:-${XDG_CACHE_HOME:-$HOME/.cache}/platform-lab}
root=$lab/wine
if [ ! -e "$root/usr/lib/wine/wine64" ]; then
  mkdir -p "$lab"
  debootstrap --variant=minbase --include=wine64,ca-certificates trixie "$root" > "$lab/wine.log"
fi
mountpoint -q "$root/proc" || mount --bind /proc "$root/proc"
mountpoint -q "$root/dev" || mount --bind /dev "$root/dev"
trap 'umount -l "$root/proc" "$root/dev"' EXIT
mkdir -p "$root/tmp/agent"
cp "$program" "$root/tmp/agent/agent.exe"
cat > "$root/tmp/agent/steps.sh" <<'STEPS'
set -u
failed=0
check() { if [ "$2" = "$3" ]; then echo "ok: $1"; else echo "failed: $1: $2 instead of $3"; failed=$((failed + 1)); fi; }
state() { wine64 sc query platform-agent 2> /dev/null | tr -d '\r' | sed -n 's/.*STATE *: [0-9] *\([A-Z_]*\).*/\1/p'; }
data=$WINEPREFIX/drive_c/ProgramData/Platform
wineserver64 -k 2> /dev/null
sleep 1
rm -rf "$data"
wine64 wineboot > /dev/null 2>&1
# The service manager goes with the last ordinary program.
(wine64 ping -n 600 127.0.0.1 > /dev/null 2>&1 &)
sleep 15
mkdir -p "$data"
cat > "$data/platform.json" <<'JSON'
{"cloud": {"app_address": "http://127.0.0.1:9", "id": "11111111-2222-4333-8444-555555555555", "secret": "of-no-machine"}}
JSON
version=$(wine64 agent.exe --version | tr -d '\r')
echo "$version"
wine64 agent.exe install --no-start
check 'install' "$?" 0
wine64 net start platform-agent > /dev/null
check 'the service starts' "$(state)" RUNNING
sleep 5
grep -c 'to=running because={"is":"ready"}' "$data/agent/log/agent.log" > ready.txt
check 'the agent notifies its supervisor that it is ready' "$(cat ready.txt)" 1
wine64 agent.exe install > /dev/null
check 'install again: stopped in good order, started' "$?" 0
check 'it runs again' "$(state)" RUNNING
wine64 net stop platform-agent > /dev/null
sleep 20
check 'the service stops' "$(state)" STOPPED
check 'in good order' "$(grep -c 'the agent has ended.*how="exit 0"' "$data/agent/log/agent.log")" 2
wine64 agent.exe uninstall --yes
check 'the service is gone' "$(state)" ''
check 'and everything else' "$(find "$data" -type f | wc -l)" 0
wineserver64 -k
echo "$failed failed"
exit "$failed"
STEPS
chroot "$root" env HOME=/root XDG_RUNTIME_DIR=/tmp WINEPREFIX=/tmp/agent/wine WINEDEBUG=-all WINEDLLOVERRIDES=mscoree,mshtml= \
  PATH=/usr/lib/wine:/usr/bin:/bin sh -c 'cd /tmp/agent && wine64 wineboot -i > /dev/null 2>&1; sh steps.sh'
