// What runs in the unit of the package manager: POSIX shell.

/** A prompt would wait for ever, and needrestart must not restart the agent. The owner's files of packages stay. */
const prelude = `export DEBIAN_FRONTEND=noninteractive UCF_FORCE_CONFFOLD=1 APT_LISTCHANGES_FRONTEND=none NEEDRESTART_MODE=l LC_ALL=C
apt() { apt-get -q -y -o DPkg::Lock::Timeout=600 -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold "$@"; }
`;

/** Does nothing after a dpkg that ended in order. */
const repair =
  'dpkg --force-confdef --force-confold --configure -a && { apt-get -q check >/dev/null || apt -f install; }';
const update = 'apt -o APT::Update::Error-Mode=any update';

export const packageScripts = {
  'update the package lists': `${prelude}${repair} && ${update}`,
  'install unattended-upgrades': `${prelude}${repair} && apt install --no-install-recommends unattended-upgrades`,
  // An update of the lists that fails in part must not prevent the upgrades of the other repositories.
  'upgrade the packages': `${prelude}${repair} || exit; failed=0; ${update} || failed=$?
apt --with-new-pkgs upgrade && exit $failed`,
  'run unattended-upgrade': `${prelude}${repair} || exit; failed=0; ${update} || failed=$?
unattended-upgrade -v && exit $failed`,
} as const;
export type PackageScript = keyof typeof packageScripts;
