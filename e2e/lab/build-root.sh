#!/bin/bash
# build-root.sh SUITE - the root of a container with another Debian: bullseye (11), trixie (13). Run as root, after setup.sh. Prints the folder
#   that ct.sh takes as PLATFORM_LAB. It has the suite's unattended-upgrades in /srv, because a container has no network. Made once.
set -euo pipefail; . "$(dirname "$0")/env.sh"; root; need mmdebstrap
suite=${1:?SUITE} OUT=$LAB/suites/$1
mkdir -p "$OUT"; exec 9>"$OUT/build.lock"; flock -w 900 9 || die 'another build has been running for 15 min'
SOURCES=$(sha256sum < "$HERE/build-root.sh")
if [ "$(cat "$OUT/sources" 2>/dev/null)" != "$SOURCES" ]; then
  # the archive this machine itself installs from, whatever its name
  uri() { apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(ORIGIN)' 'Identifier: Packages' | awk -v c="$1" '$2 == c && $3 == "Debian" {print $1; exit}'; }
  main=$(uri bookworm) security=$(uri bookworm-security); [ -n "$main" ] && [ -n "$security" ] || die 'apt here knows no Debian bookworm: run apt-get update'
  PKGS=systemd,systemd-sysv,udev,dbus,kmod,iproute2,procps,network-manager,curl,ca-certificates,apt-utils
  PKGS+=,python3,python3-apt,python3-dbus,python3-distro-info,lsb-release,ucf,xz-utils,init-system-helpers,debconf,media-types
  [ "$suite" = bullseye ] || PKGS+=,polkitd
  rm -rf --one-file-system "$OUT/root"
  mmdebstrap --quiet --variant=minbase --include="$PKGS" --aptopt='Acquire::Languages "none"' --aptopt='APT::Sandbox::User "root"' --dpkgopt=force-unsafe-io \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    --customize-hook='chroot "$1" sh -c "cd /srv && apt-get -qq download unattended-upgrades"' \
    "$suite" "$OUT/root" "deb $main $suite main" "deb $security $suite-security main" 2> "$OUT/build.log" || { tail "$OUT/build.log" >&2; die "mmdebstrap failed: $OUT/build.log"; }
  R=$OUT/root; echo testdev > "$R/etc/hostname"; printf '127.0.0.1 localhost\n127.0.1.1 testdev\n' > "$R/etc/hosts"
  echo b08dfa6083e7567a1921a715000001fb > "$R/etc/machine-id"; sed -i 's/^root:[^:]*:/root::/' "$R/etc/shadow"
  for u in apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer NetworkManager-wait-online.service; do rm -f "$R"/etc/systemd/system/*.wants/$u; done
  # mmdebstrap notes how it was called; a fresh machine has none of it
  rm -f "$R"/etc/apt/apt.conf.d/99mmdebstrap
  date +%s%N > "$OUT/id"; echo "$SOURCES" > "$OUT/sources"
fi
echo "$OUT"
