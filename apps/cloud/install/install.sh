#!/bin/sh
# Installs platform-agent on this machine. The server that you got this from has put its address and its key into it.
#
#   sudo /bin/sh -c "PLATFORM_API_KEY_ID=… PLATFORM_API_KEY=… PLATFORM_PART_ID=…; $(curl -fsSL SERVER/install.sh || (echo; echo exit 2))"
#   { curl -fsSL SERVER/install.sh || (echo; echo exit 2); } | sudo sh          with a credentials file in /etc/platform.json already
#   sh install.sh --help                            everything else
#
# Everything is inside of functions and the last line calls one: of a download that was cut, nothing runs. Without
# "exit 2" a shell that gets nothing would end with 0, as if the machine were installed.

server_url='@PLATFORM_URL@'
release_key='@PLATFORM_RELEASE_KEY@'
default_action='@PLATFORM_ACTION@'
# certificate of the authority that vouches for the server, if systems do not know it
authority='@PLATFORM_AUTHORITY@'
# "<version> <sha256>" of the newest root document of the release keys
trusted_root_document='@PLATFORM_TRUSTED_ROOT@'
# "<channel> <version>", a line each
channels='@PLATFORM_CHANNELS@'
# "<version> <platform> <sha256>" of the agents in these channels, a line each; only for an https address
agents='@PLATFORM_AGENTS@'

usage() {
  cat <<TEXT
Installs platform-agent as a systemd service, or removes it.

  sh install.sh [--version V] [--config FILE] [--root FOLDER] [--force] [--no-start]
  sh install.sh --binary FILE --sums FILE --sig FILE [--trusted-root FILE]   without a network; needs --config or /etc/platform.json
  sh install.sh --url URL [--sha256 HEX | --unsigned]                        an agent from elsewhere, not signed by this server
  sh install.sh --uninstall [--keep-credentials]

  --version V        stable (default), dev, or a version as 1.2.3. Also PLATFORM_AGENT_VERSION.
  --config FILE      Credentials of this machine. Default /etc/platform.json.
  --root FOLDER      Where the agent lives. Default /opt/platform.
  --server URL       The management server, when it is not the one this script came from. Also PLATFORM_URL.
  --url URL          Also PLATFORM_AGENT_URL; http, https or file. --sha256: also PLATFORM_AGENT_SHA256.
  --force            Replace other credentials and other agents. Also FORCE=1.
  --no-start         Install, do not start.
  --container        Without systemd: install, then stay and keep the agent running. Default --config ROOT/etc/platform.json.

Credentials: set PLATFORM_API_KEY_ID, PLATFORM_API_KEY and PLATFORM_PART_ID, and the file is fetched; or put the file there.
A proxy is taken from https_proxy, http_proxy, all_proxy and no_proxy, for the download and for the agent.

Exit codes: 0 done · 1 a check failed, nothing was changed · 2 a step failed · 3 the signature or the checksum is wrong, nothing was run
TEXT
}

say() { printf '%s\n' "$*"; }
refuse() { printf 'install.sh: %s\n' "$*" >&2; report failed "$*" > /dev/null; exit 1; }
failed() { printf 'install.sh: %s\n' "$*" >&2; report failed "$*" > /dev/null; exit 2; }
untrusted() { printf 'install.sh: %s\nNothing was run.\n' "$*" >&2; report failed "$* Nothing was run." > /dev/null; exit 3; }
has() { command -v "$1" > /dev/null 2>&1; }

# report STEP DETAIL: with a one-time key, tells the page that waits for this machine how far this came. It prints the
# status of the answer, and never fails.
report() {
  [ -n "$once" ] || return 0
  case $server in https://*) protocols='=https' ;; *) protocols='=http,https' ;; esac
  printf 'header = "key_id: %s"\nheader = "key: %s"\nheader = "x-installer: %s"\n' "$PLATFORM_API_KEY_ID" "$PLATFORM_API_KEY" "$installer" |
    curl -sS -K - -X POST -G --data-urlencode "step=$1" --data-urlencode "detail=$2" --proto "$protocols" --connect-timeout 10 --max-time 20 \
      ${once_authority:+--cacert "$once_authority"} -o /dev/null -w '%{http_code}' "$server/api/install-steps" 2> /dev/null || :
}

# Reports begin with a one-time key alone: others are keys of users.
begin_reports() {
  case ${PLATFORM_API_KEY:-}:${PLATFORM_API_KEY_ID:-} in
    *[!A-Za-z0-9_:-]*) return 0 ;;
    once_*:?*) ;;
    *) return 0 ;;
  esac
  { has curl && has sha256sum && has cut; } || return 0
  # The same until this is done, so that the key works again after a failure.
  installer=$(cat "$root/cache/install/installer" 2> /dev/null)
  [ ${#installer} = 32 ] || installer=$(head -c 16 /dev/urandom | sha256sum | cut -c 1-32)
  if [ -n "$authority" ]; then
    once_authority=$(mktemp) || return 0
    trap 'rm -f "$once_authority"' EXIT
    printf '%s\n' "$authority" > "$once_authority"
  fi
  once=1
  case $(report started "$(uname -s) $(uname -m)") in
    401)
      once=''
      has_credentials ||
        refuse 'the one-time key of this line was used, has expired, was replaced by a newer one, or never existed. Make a new line in the web app (the machine, CONNECT, "Add this machine"), and paste that.'
      say 'The one-time key works no more. This machine has its credentials already, and keeps them.'
      unset PLATFORM_API_KEY_ID PLATFORM_API_KEY PLATFORM_PART_ID
      ;;
    429)
      once=''
      refuse 'too many wrong one-time keys were tried from this network. Wait a minute, then paste the line again.'
      ;;
  esac
}

# whether the credentials of this part are here
has_credentials() {
  [ -n "${PLATFORM_PART_ID:-}" ] && [ -s "$config" ] || return 1
  case $(cat "$config" 2> /dev/null) in *"\"$PLATFORM_PART_ID\""*) return 0 ;; *) return 1 ;; esac
}

# the next argument of an option
need_value() { [ "$2" -gt 1 ] || refuse "$1 needs a value. See --help."; }

read_arguments() {
  action=$default_action root=/opt/platform config='' is_container='' version=${PLATFORM_AGENT_VERSION:-stable}
  custom_url=${PLATFORM_AGENT_URL:-} custom_sha256=${PLATFORM_AGENT_SHA256:-} is_unsigned='' binary='' sums='' sig='' trusted_root=''
  force=${FORCE:-} no_start='' keep_credentials='' server=${PLATFORM_URL:-$server_url}
  while [ $# -gt 0 ]; do
    case $1 in
      --version) need_value "$1" $#; version=$2; shift ;;
      --config) need_value "$1" $#; config=$2; shift ;;
      --root) need_value "$1" $#; root=$2; shift ;;
      --server) need_value "$1" $#; server=$2; shift ;;
      --url) need_value "$1" $#; custom_url=$2; shift ;;
      --sha256) need_value "$1" $#; custom_sha256=$2; shift ;;
      --binary) need_value "$1" $#; binary=$2; shift ;;
      --sums) need_value "$1" $#; sums=$2; shift ;;
      --sig) need_value "$1" $#; sig=$2; shift ;;
      --trusted-root) need_value "$1" $#; trusted_root=$2; shift ;;
      --unsigned) is_unsigned=1 ;;
      -f | --force) force=1 ;;
      --no-start) no_start=1 ;;
      --container) is_container=1 ;;
      --uninstall) action=uninstall ;;
      --keep-credentials) keep_credentials=1 ;;
      -h | --help) usage; exit 0 ;;
      *) refuse "\"$1\" is not an option. See --help." ;;
    esac
    shift
  done
  [ "$force" = 0 ] && force=''
  case $root in /*[!/]*) ;; *) refuse "--root $root: give the full path of a folder that is not /." ;; esac
  [ -n "$config" ] || if [ -n "$is_container" ]; then config=$root/etc/platform.json; else config=/etc/platform.json; fi
  case $config in /*) ;; *) refuse "--config $config: give the full path of the file." ;; esac
  case $version in '' | *[!A-Za-z0-9.+-]*) refuse "\"$version\" is not a version: write stable, dev, or one as 1.2.3." ;; esac
  server=${server%/}
  case $server in http://?* | https://?*) ;; *) refuse "\"$server\" is not a URL of a management server: it begins with https:// or http://." ;; esac
  case $custom_sha256 in *[!0-9a-f]*) refuse "the sha256 has 64 digits of 0-9 and a-f: $custom_sha256" ;; esac
  [ -z "$custom_sha256" ] || [ ${#custom_sha256} = 64 ] || refuse "the sha256 has 64 digits of 0-9 and a-f: $custom_sha256"
}

check_root() { [ "$(id -u)" = 0 ] || refuse 'this must run as root: put sudo before sh.'; }

check_machine() {
  [ "$(uname -s)" = Linux ] || refuse "this is for Linux, and here is $(uname -s)."
  case $(uname -m) in
    x86_64 | amd64) platform=linux-amd64 loader=/lib64/ld-linux-x86-64.so.2 ;;
    aarch64 | arm64) platform=linux-arm64 loader=/lib/ld-linux-aarch64.so.1 ;;
    *) refuse "there is no agent for $(uname -m): it runs on x86_64 and aarch64." ;;
  esac
  [ -e "$loader" ] ||
    refuse "the system here is not a 64-bit one with the GNU C library ($loader is missing), although its kernel is $(uname -m). Install a 64-bit system."
  if [ "$platform" = linux-amd64 ] && [ -r /proc/cpuinfo ] && ! grep -q -w sse4_2 /proc/cpuinfo; then
    refuse 'the processor lacks SSE4.2, which the agent needs.'
  fi
  if [ -z "$is_container" ] && { [ ! -d /run/systemd/system ] || ! has systemctl; }; then
    refuse 'systemd does not run here, and the agent is one of its services. In a container use the line for containers, which ends with --container.'
  fi
  for program in sha256sum df tail tr cut sed cp mv mkdir chmod rm; do
    has "$program" || refuse "the program \"$program\" is missing: install it (coreutils, sed) and run this again."
  done
  # Without it the checksum in this script decides, which is worth as much as the connection that the script came by.
  if [ -z "$custom_url" ] && ! has openssl; then
    if [ -n "$binary" ] || [ -z "$agents" ]; then
      refuse 'openssl is missing, and only an address with https can do without: install the package "openssl", then run this again.'
    fi
  fi
  [ -n "$binary" ] || has curl || refuse 'curl is missing: install the package "curl", then run this again.'
}

needed_kib=460800

# has_space FOLDER: sets place, free_kib and mount; 0: enough is free there, or df does not say
has_space() {
  place=$1
  while [ ! -d "$place" ]; do place=${place%/*} place=${place:-/}; done
  disk=$(df -Pk "$place" | tail -n 1 | tr -s ' ')
  free_kib=$(printf '%s' "$disk" | cut -d ' ' -f 4) mount=$(printf '%s' "$disk" | cut -d ' ' -f 6-)
  case $free_kib in '' | *[!0-9]*) return 0 ;; esac
  [ "$free_kib" -ge "$needed_kib" ]
}

check_space() {
  has_space "$root" ||
    refuse "$place has $((free_kib / 1024)) MiB free, and 450 are needed: two versions of the agent and of the machine server lie there during an update."
}

check_others() {
  for unit in viam-agent viam-server; do
    [ -e "/etc/systemd/system/$unit.service" ] || [ -e "/usr/local/lib/systemd/system/$unit.service" ] || continue
    [ -n "$force" ] && continue
    refuse "$unit.service is installed here already: two agents do not share a machine. Remove it, or run this again with FORCE=1 to have it stopped and disabled."
  done
}

check_credentials() {
  given='' missing=''
  if [ -n "${PLATFORM_API_KEY_ID:-}" ]; then given=1; else missing="$missing PLATFORM_API_KEY_ID"; fi
  if [ -n "${PLATFORM_API_KEY:-}" ]; then given=1; else missing="$missing PLATFORM_API_KEY"; fi
  if [ -n "${PLATFORM_PART_ID:-}" ]; then given=1; else missing="$missing PLATFORM_PART_ID"; fi
  if [ -n "$given" ]; then
    [ -z "$missing" ] || refuse "with one of PLATFORM_API_KEY_ID, PLATFORM_API_KEY and PLATFORM_PART_ID all three are needed; not set:$missing."
    [ -z "$binary" ] || [ -s "$config" ] ||
      refuse "without a network the credentials can't be fetched: copy the credentials file of this machine to $config."
    # In the one-liner they are variables of this shell only.
    export PLATFORM_API_KEY_ID PLATFORM_API_KEY PLATFORM_PART_ID
    return 0
  fi
  [ -s "$config" ] ||
    refuse "this machine has no credentials: set PLATFORM_API_KEY_ID, PLATFORM_API_KEY and PLATFORM_PART_ID, or put the credentials file of the machine (its page in the app has both) at $config."
}

# fetch URL FILE: goes on with what an earlier attempt left. 0: there, else the exit code of curl.
fetch() {
  case $1 in https://*) protocols='=https' ;; *) protocols='=http,https' ;; esac
  # What is not from this server is vouched for by the authorities of the system.
  trusted=''
  case $1 in "$server"/*) trusted=$authority_file ;; esac
  attempt=1 pause=2
  while :; do
    fetch_code=0
    status=$(curl -fsSL --proto "$protocols" --proto-redir "$protocols" --connect-timeout 20 --speed-limit 1024 --speed-time 60 \
      --max-filesize 1073741824 -C - -w '%{http_code}' ${trusted:+--cacert "$trusted"} -o "$2" "$1" < /dev/null) || fetch_code=$?
    case $fetch_code:$status in
      0:*) return 0 ;;
      # Nothing is missing. The checksum decides whether it is the file.
      22:416) [ -s "$2" ] && return 0 ;;
      22:408 | 22:429 | 22:5??) ;;
      # The server can't go on where we stopped: the whole file then.
      33:* | 36:*) rm -f "$2" ;;
      5:* | 6:* | 7:* | 18:* | 28:* | 52:* | 55:* | 56:* | 92:*) ;;
      *) return "$fetch_code" ;;
    esac
    [ "$attempt" -lt 5 ] || return "$fetch_code"
    say "The download was interrupted (curl $fetch_code); again in $pause s …" >&2
    sleep "$pause"
    attempt=$((attempt + 1)) pause=$((pause * 2))
  done
}

# explain_certificate URL: prints the dates of its certificate beside the clock. Nothing is sent but the request for them.
explain_certificate() {
  seen=$(curl -skvI --connect-timeout 20 --max-time 30 "$1" 2>&1 < /dev/null | tr -d '\r')
  begins=$(printf '%s\n' "$seen" | sed -n 's/.*start date: *\([A-Za-z0-9: ]*\).*/\1/p' | tail -n 1)
  ends=$(printf '%s\n' "$seen" | sed -n 's/.*expire date: *\([A-Za-z0-9: ]*\).*/\1/p' | tail -n 1)
  told=$(printf '%s\n' "$seen" | sed -n 's/^< [Dd]ate: *\([A-Za-z0-9:, ]*\)$/\1/p' | tail -n 1)
  {
    say "  The clock here:  $(date -u '+%a, %d %b %Y %H:%M:%S GMT')"
    [ -z "$begins$ends" ] || say "  The certificate: from $begins until $ends"
    [ -z "$told" ] || say "  The server says: $told (unproven)"
    now=$(date +%s) first=$(date -d "${begins:--}" +%s 2> /dev/null) last=$(date -d "${ends:--}" +%s 2> /dev/null)
    if [ -n "$first" ] && [ -n "$last" ] && [ "$now" -ge "$first" ] && [ "$now" -le "$last" ]; then
      say 'The clock fits the certificate. If its authority is your own, put that into the store of this system (update-ca-certificates).'
      return 0
    fi
    # Never with the time of the server in it: whoever answers in its place would choose the time of this machine.
    say 'If the clock here is wrong, set it to the time of a clock that you trust, in UTC, and run this again:'
    say "  sudo date -u -s 'YYYY-MM-DD HH:MM:SS'"
  } >&2
}

must_fetch() {
  code=0
  fetch "$1" "$2" || code=$?
  case $code in
    0) return 0 ;;
    5 | 6) hint='the name could not be resolved: is there a network, and is the address right?' ;;
    7) hint='nobody answers there: is the server up, and is a firewall or a proxy in between?' ;;
    22) hint='the server answered with an error (above).' ;;
    23)
      folder=${2%/*}
      if has_space "$folder"; then
        hint="$2 could not be written, although the disk of $mount has $((free_kib / 1024)) MiB free: is it read-only, or is a quota used up?"
      else
        hint="the disk of $mount is full: $folder has $((free_kib / 1024)) MiB free, and $((needed_kib / 1024)) are needed. Make room there, then run this again: the download goes on where it stopped."
      fi
      ;;
    28) hint='it took too long. Run this again: the download goes on where it stopped.' ;;
    35 | 51 | 58 | 60 | 77 | 83)
      explain_certificate "$1"
      hint='the certificate of the server was not accepted (above).'
      ;;
    63) hint='the file is too large.' ;;
    *) hint='run this again: the download goes on where it stopped.' ;;
  esac
  failed "$1 could not be downloaded (curl $code): $hint"
}

check_signature() {
  printf '%s\n' "$release_key" > "$work/key.pem"
  openssl dgst -sha256 -verify "$work/key.pem" -signature "$2" "$1" > /dev/null 2>&1 ||
    untrusted "the list of checksums is not signed by the key of this server ($3). Somebody changed it, or it belongs to another server."
}

sha256_of() {
  hash=$(sha256sum < "$1") || failed "$1 can't be read."
  printf '%s' "${hash%% *}"
}

# listed PATH: its checksum in the signed list
listed() { sed -n "s|^\([0-9a-f]\{64\}\)  $1\$|\1|p" "$work/SHA256SUMS" | tail -n 1; }

get_list() {
  if [ -n "$binary" ]; then
    [ -n "$sums" ] || refuse '--binary needs --sums: the file SHA256SUMS of the server.'
    [ -n "$sig" ] || refuse '--binary needs --sig: the file SHA256SUMS.sig of the server.'
    for file in "$binary" "$sums" "$sig"; do [ -r "$file" ] || refuse "$file can't be read."; done
    cp "$sums" "$work/SHA256SUMS" || failed "$work can't be written."
    cp "$sig" "$work/SHA256SUMS.sig" || failed "$work can't be written."
  else
    # These change with each release: never the rest of an older one.
    rm -f "$work/SHA256SUMS" "$work/SHA256SUMS.sig"
    must_fetch "$server/releases/SHA256SUMS" "$work/SHA256SUMS"
    must_fetch "$server/releases/SHA256SUMS.sig" "$work/SHA256SUMS.sig"
  fi
  check_signature "$work/SHA256SUMS" "$work/SHA256SUMS.sig" "$server"
}

# the first root of trust for what the agent verifies from now on
get_trusted_root() {
  [ -z "$trusted_root" ] && [ -n "$trusted_root_document" ] || return 0
  rm -f "$work/root.json"
  must_fetch "$server/tuf/${trusted_root_document% *}.root.json" "$work/root.json"
  [ "$(sha256_of "$work/root.json")" = "${trusted_root_document#* }" ] ||
    untrusted "$server/tuf/${trusted_root_document% *}.root.json is not the root document that this script names. Get the script again."
  trusted_root=$work/root.json
}

# get_program URL: an earlier attempt may have left a part of it, which a power cut may have torn
get_program() {
  left=''
  [ ! -s "$work/platform-agent" ] || left=1
  [ -n "$left" ] && [ "$(sha256_of "$work/platform-agent")" = "$sha256" ] && return 0
  must_fetch "$1" "$work/platform-agent"
  [ -n "$left" ] && [ "$(sha256_of "$work/platform-agent")" != "$sha256" ] || return 0
  say 'The part that an earlier attempt left was damaged; downloading the whole file …'
  rm -f "$work/platform-agent"
  must_fetch "$1" "$work/platform-agent"
}

# the checksum of PATH: by the signed list; without openssl by this script, which came over https
find_sha256() {
  if has openssl; then
    sha256=$(listed "$path")
    return 0
  fi
  sha256=$(printf '%s\n' "$agents" | sed -n "s|^$version $platform ||p")
  [ -n "$sha256" ] || refuse "openssl is missing, and without it only the versions of the channels can be checked: install the package \"openssl\", then run this again."
}

get_signed() {
  [ -n "$release_key" ] || refuse "this server has not published a release yet. Publish one (platform release publish), and get install.sh again."
  ! has openssl || get_list
  if [ -n "$binary" ]; then
    sha256=$(sha256_of "$binary")
    name=$(sed -n "s|^$sha256  platform-agent/\([^/]*\)/$platform/.*|\1|p" "$work/SHA256SUMS" | tail -n 1)
    [ -n "$name" ] || untrusted "$binary (sha256 $sha256) is not a platform-agent for $platform of the signed list."
    version=$name
    cp "$binary" "$work/platform-agent" || failed "$binary can't be copied to $work."
  else
    case $version in
      [0-9]*) ;;
      *)
        channel=$version
        version=$(printf '%s\n' "$channels" | sed -n "s|^$channel ||p")
        [ -n "$version" ] || refuse "$server has no version of platform-agent in the channel $channel."
        ;;
    esac
    path=platform-agent/$version/$platform/platform-agent
    find_sha256
    [ -n "$sha256" ] || refuse "$server has no platform-agent $version for $platform. The versions are listed at $server/releases/SHA256SUMS."
    get_trusted_root
    if [ -f "$root/bin/platform-agent" ] && [ "$(sha256_of "$root/bin/platform-agent")" = "$sha256" ]; then
      say "platform-agent $version is here already."
      report downloaded "platform-agent $version for $platform was here already" > /dev/null
      report verified "its SHA-256 is that of the list of $server" > /dev/null
      agent=$root/bin/platform-agent
      return 0
    fi
    say "Downloading platform-agent $version for $platform from $server …"
    # The rest of another version must not be gone on with.
    [ "$(cat "$work/part" 2> /dev/null)" = "$sha256" ] || rm -f "$work/platform-agent"
    printf '%s\n' "$sha256" > "$work/part"
    get_program "$server/releases/$path"
  fi
  check_file
}

get_custom() {
  sha256=$custom_sha256
  [ -n "$sha256$is_unsigned" ] ||
    refuse "$custom_url is not signed by the server. Say what it must be with --sha256 HEX, or that you take whatever is there with --unsigned."
  rm -f "$work/platform-agent"
  say "Getting $custom_url …"
  case $custom_url in
    file:///*) cp "${custom_url#file://}" "$work/platform-agent" || failed "${custom_url#file://} can't be copied." ;;
    http://* | https://*) must_fetch "$custom_url" "$work/platform-agent" ;;
    *) refuse "\"$custom_url\" is no http, https or file address." ;;
  esac
  is_unsigned=1
  [ -z "$sha256" ] || check_file
}

check_file() {
  found=$(sha256_of "$work/platform-agent")
  report downloaded "platform-agent $version for $platform, $(($(wc -c < "$work/platform-agent") / 1000000)) MB" > /dev/null
  if [ "$found" = "$sha256" ]; then
    if [ -n "$custom_url" ]; then by='its SHA-256 is the one that was given'; elif has openssl; then by='SHA-256 in the list that the key of the server signed'; else by='SHA-256 in the script, which came over https'; fi
    report verified "$by" > /dev/null
    return 0
  fi
  rm -f "$work/platform-agent" "$work/part"
  untrusted "what was downloaded has the sha256 $found, and it should have $sha256. It was removed; run this again."
}

hold_work() {
  work=$root/cache/install
  # Root's alone: nobody may change a file between its check and its start.
  (umask 077 && mkdir -p "$root/cache" "$work") || failed "$work can't be made."
  chmod 755 "$root" "$root/cache" || failed "$root can't be changed."
  chmod 700 "$work" || failed "$work can't be made root's own."
  if has flock; then
    exec 9> "$work/lock"
    flock -n 9 || refuse 'another install runs on this machine.'
  fi
  [ -z "$once" ] || printf '%s\n' "$installer" > "$work/installer" || failed "$work can't be written."
  authority_file=''
  if [ -n "$authority" ]; then
    authority_file=$work/authority.pem
    printf '%s\n' "$authority" > "$authority_file" || failed "$work can't be written."
  fi
}

# Stays as the main process of the container.
keep_running() {
  exec "$root/bin/platform-agent" supervise --root "$root" --config "$config" < /dev/null
}

# run_agent ARGUMENTS: sets code; what it prints on stderr is kept for the report, too
run_agent() {
  code=0
  if [ -z "$once" ] || ! has tee; then
    PLATFORM_URL=$server "$agent" "$@" < /dev/null 9>&- || code=$?
    return 0
  fi
  rm -f "$work/code"
  {
    {
      PLATFORM_URL=$server PLATFORM_INSTALLER=$installer "$agent" "$@" < /dev/null 2>&1 >&3 3>&- 9>&-
      printf '%s\n' "$?" > "$work/code"
    } | tee "$work/said" >&2 3>&- 9>&-
  } 3>&1
  code=$(cat "$work/code" 2> /dev/null) || code=70
}

# agent_failed CODE TEXT: what the agent said is the reason on the page
agent_failed() {
  said=$(tail -n 4 "$work/said" 2> /dev/null | tr '\n' ' ')
  report failed "${said:-$2}" > /dev/null
  once=''
  [ "$1" != 4 ] || refuse "$2"
  failed "$2"
}

install_agent() {
  begin_reports
  check_root
  check_machine
  check_credentials
  check_others
  check_space
  # A container that starts again: the agent itself decides its version from now on.
  if [ -n "$is_container" ] && [ -x "$root/bin/platform-agent" ] && [ -s "$config" ] && [ -z "${PLATFORM_API_KEY:-}" ]; then
    keep_running
  fi
  hold_work
  agent=$work/platform-agent
  if [ -n "$custom_url" ]; then get_custom; else get_signed; fi
  chmod 700 "$agent"

  set -- install --url "$server" --config "$config" --root "$root"
  [ -z "$trusted_root" ] || set -- "$@" --trusted-root "$trusted_root"
  [ -z "$authority_file" ] || set -- "$@" --authority "$authority_file"
  [ -z "$binary" ] || set -- "$@" --offline
  [ -z "$is_unsigned" ] || set -- "$@" --unsigned
  [ -z "$force" ] || set -- "$@" --force --replace
  [ -z "$no_start" ] || set -- "$@" --no-start
  [ -z "$is_container" ] || set -- "$@" --unit-folder "$root/etc" --link-folder "$root/etc"
  run_agent "$@"
  case $code in
    0) ;;
    4) agent_failed 4 'the agent refused to be installed, see above.' ;;
    *) agent_failed "$code" "\"platform-agent install\" ended with $code, see above. What ran here before still runs." ;;
  esac
  # Runs on in a container: what held the lock must not.
  exec 9>&-
  rm -rf "$work"
  if [ -n "$is_container" ]; then
    report installed "platform-agent ${version:-} runs as the main process of a container" > /dev/null
    rm -f "$once_authority"
    keep_running
  fi
  if [ -n "$no_start" ]; then is="is installed, and not started"; else is='is installed, and platform-agent.service runs'; fi
  report installed "platform-agent ${version:-} $is" > /dev/null
}

remove_folder() {
  # Only what looks like ours.
  if [ -d "$1/versions" ] || [ -d "$1/cache/install" ]; then rm -rf "$1"; fi
}

uninstall_agent() {
  check_root
  keep=''
  [ -z "$keep_credentials" ] || keep=--keep-credentials
  if [ -x "$root/bin/platform-agent" ]; then
    # shellcheck disable=SC2086
    if "$root/bin/platform-agent" uninstall --yes --root "$root" --config "$config" $keep < /dev/null; then return 0; fi
    say 'The agent could not remove itself; going on without it.' >&2
  fi
  if has systemctl && [ -d /run/systemd/system ]; then
    systemctl disable --now platform-agent.service > /dev/null 2>&1
    systemctl stop platform-server.service > /dev/null 2>&1
  fi
  for folder in /etc/systemd/system /usr/local/lib/systemd/system; do
    rm -f "$folder/platform-agent.service"
    rm -rf "$folder/platform-agent.service.d"
  done
  remove_folder "$root"
  [ -n "$keep_credentials" ] || rm -f "$config" "$config.old"
  if has systemctl && [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    systemctl reset-failed platform-agent.service platform-server.service > /dev/null 2>&1
  fi
  [ ! -e "$root" ] || failed "$root was left: it does not look like a folder of the agent."
  say 'platform-agent is removed.'
}

main() {
  set -u
  once='' once_authority='' installer=''
  PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
  read_arguments "$@"
  case $action in
    uninstall) uninstall_agent ;;
    *) install_agent ;;
  esac
  exit 0
}

main "$@"
