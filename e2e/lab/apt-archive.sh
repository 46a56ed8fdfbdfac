#!/bin/bash
# apt-archive.sh FOLDER VERSION - an apt archive as on a Debian machine: suites bookworm, bookworm-security and a vendor's, with one package
#   each (lab-main, lab-sec, lab-acme) at VERSION. Again with a higher VERSION: an upgrade. SLOW=SECONDS: configuring lab-main takes that long, the first time.
#   NEED_REBOOT=1: lab-sec asks for a reboot. unattended-upgrades is in bookworm, downloaded once. Needs dpkg-dev and apt.
#   SUITE=trixie ARCHIVE=stable: as on another Debian; unattended-upgrades is then not in it.
set -euo pipefail
archive=$(realpath -m "$1") version=$2 suite=${SUITE:-bookworm} name=${ARCHIVE:-oldstable}
make_package() {
  local suite=$1 name=$2 folder script=:
  folder=$(mktemp -d) && mkdir -p "$folder/DEBIAN" "$archive/pool/$suite" && chmod 755 "$folder"
  printf '%s\n' "Package: $name" "Version: $version" 'Architecture: all' 'Maintainer: lab <lab@localhost>' 'Description: package of the lab' > "$folder/DEBIAN/control"
  [ "$name" = lab-sec ] && [ -n "${NEED_REBOOT-}" ] && script="touch /run/reboot-required; echo $name >> /run/reboot-required.pkgs"
  [ "$name" = lab-main ] && [ -n "${SLOW-}" ] && script="[ -e /var/lib/lab-main-$version ] && exit 0; touch /var/lib/lab-main-$version /run/lab-main.slow; sleep $SLOW"
  printf '#!/bin/sh\n%s\n' "$script" > "$folder/DEBIAN/postinst" && chmod 755 "$folder/DEBIAN/postinst"
  dpkg-deb -Zgzip --root-owner-group -b "$folder" "$archive/pool/$suite/${name}_${version}_all.deb" > /dev/null
  rm -rf "$folder"
}
make_suite() {
  local suite=$1 origin=$2 archive_name=$3 label=$4 packages=main/binary-amd64/Packages
  cd "$archive" && mkdir -p "dists/$suite/main/binary-amd64"
  dpkg-scanpackages -m "pool/$suite" > "dists/$suite/$packages" 2> /dev/null
  cd "dists/$suite"
  {
    printf '%s\n' "Origin: $origin" "Label: $label" "Suite: $archive_name" "Codename: $suite" "Date: $(date -Ru)" 'Architectures: amd64' 'Components: main' 'SHA256:'
    echo " $(sha256sum < $packages | cut -d' ' -f1) $(stat -c %s $packages) $packages"
  } > Release
}
make_package "$suite" lab-main; make_package "$suite-security" lab-sec; make_package acme lab-acme
[ "$suite" != bookworm ] || ls "$archive"/pool/bookworm/unattended-upgrades_* > /dev/null 2>&1 || (cd "$archive/pool/bookworm" && apt-get -qq -o APT::Sandbox::User=root download unattended-upgrades)
make_suite "$suite" Debian "$name" Debian
make_suite "$suite-security" Debian "$name-security" Debian-Security
make_suite acme 'Acme Corp' acme 'Acme Corp'
