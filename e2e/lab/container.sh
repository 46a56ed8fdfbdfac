#!/bin/bash
# container.sh - the server in a container: buildah, podman and runc of Debian, with images and containers below $PLATFORM_LAB/container.
#   container.sh base                      an image localhost/lab-debian of a root that debootstrap made (once, 1 to 3 minutes)
#   container.sh build ARCHIVE [OPTION…]   builds deploy/Containerfile with an archive of the server as localhost/platform-management
#   container.sh podman ARGUMENT…          podman with the lab's images
#   container.sh compose FOLDER ARGUMENT…  podman-compose in FOLDER
# Needs root. The kernel of the lab has no cgroup 2 of its own for containers, so runc runs them, with limits of the host.
set -euo pipefail; . "$(dirname "$0")/env.sh"; root
C=$LAB/container
mkdir -p "$C"
store=(--root "$C/store" --runroot "$C/run" --storage-driver vfs)
engine=(--cgroup-manager cgroupfs --runtime runc)
# podman asks for more files and processes than the host may give
cat > "$C/containers.conf" << 'END'
[containers]
default_ulimits = ["nofile=16384:16384", "nproc=16384:16384"]
[engine]
events_logger = "file"
END
export CONTAINERS_CONF=$C/containers.conf BUILDAH_ISOLATION=chroot
case ${1:?} in
base)
  need debootstrap buildah
  buildah "${store[@]}" images -q localhost/lab-debian 2> /dev/null | grep -q . && exit 0
  mirror=$(awk '/^URIs:/{print $2; exit}' /etc/apt/sources.list.d/debian.sources)
  rm -rf "$C/root"; debootstrap --variant=minbase bookworm "$C/root" "$mirror" > "$C/debootstrap.log" 2>&1
  rm -rf "$C"/root/var/cache/apt/archives/*.deb
  made=$(buildah "${store[@]}" from scratch)
  buildah "${store[@]}" copy -q "$made" "$C/root" / > /dev/null
  buildah "${store[@]}" commit -q --rm "$made" localhost/lab-debian > /dev/null
  rm -rf "$C/root";;
build)
  archive=$(realpath "$2"); shift 2
  buildah "${store[@]}" build --format docker --build-arg BASE=localhost/lab-debian --build-arg ARCHIVE="$(basename "$archive")" \
    -f "$HERE/../../deploy/Containerfile" -t localhost/platform-management "$@" "$(dirname "$archive")";;
podman) shift; exec podman "${store[@]}" "${engine[@]}" "$@";;
compose)
  cd "$2"; shift 2
  # podman-compose starts the program `podman` alone
  printf '#!/bin/bash\nexec /usr/bin/podman %s "$@"\n' "$(printf '%q ' "${store[@]}" "${engine[@]}")" > "$C/podman"; chmod 755 "$C/podman"
  [ -x "$C/venv/bin/podman-compose" ] || { python3 -m venv "$C/venv"; "$C/venv/bin/pip" install -q --disable-pip-version-check podman-compose==1.6.0; }
  exec "$C/venv/bin/podman-compose" --podman-path "$C/podman" "$@";;
*) die "unknown: $1";;
esac
