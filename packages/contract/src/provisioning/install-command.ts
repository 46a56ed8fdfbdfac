import type { Release } from '../gen/platform/release/v1/release_pb.ts';
import { releasePlatforms, type ReleasePlatform } from '../releases/target-path.ts';

/**
 * What a shell runs in place of a script that could not be had: without it, the shell would run nothing and end with 0.
 * A line of its own, because the script may have been cut in the middle of a comment.
 */
const orFail = (command: string): string => `{ ${command} || (echo; echo exit 2); }`;

/**
 * A shell command that prints the install script, or a script that ends with 2. If the server has a private CA, the command contains its hash: it
 * downloads the CA certificate unverified, and uses it only if the hash matches. It uses braces, because `$((` starts
 * an arithmetic expansion.
 */
export const installScriptCommand = (url: string, authoritySha256: string | undefined): string =>
  authoritySha256 === undefined || !url.startsWith('https:')
    ? orFail(`curl -fsSL ${url}/install.sh`)
    : orFail(
        `c=$(mktemp) && curl -fsSk -o $c ${url}/authority.pem && echo "${authoritySha256}  $c" | sha256sum -c - >&2 && curl -fsS --cacert $c ${url}/install.sh`,
      );

/**
 * Commands for PowerShell that download this agent, compare its hash, and install it. The page that shows them vouches
 * for the hash, so the connection need not: Windows does not know a private CA.
 *
 * @param url - of the file. @param sha256 - of the file, hex.
 */
export const windowsInstallCommand = ({ url, sha256 }: { url: string; sha256: string }): string =>
  [
    '$f = "$env:TEMP\\platform-agent.exe"',
    `curl.exe -fsSkL -o $f ${url}`,
    `if ((Get-FileHash $f).Hash -ne '${sha256}') { throw 'This is not the file that the page named.' }`,
    '& $f install',
  ].join('; ');

/** The values of an install command with a one-time key. */
export interface KeyedInstall {
  scriptCommand: string;
  url: string;
  /** The hash of the server's own authority; empty: systems know it. */
  authoritySha256: string;
  keyId: string;
  key: string;
  partId: string;
}

export interface KeyedCommands {
  /** For root, in a shell. */
  readonly linux: string;
  /** For PowerShell as administrator; undefined: no agent for Windows is released. */
  readonly windows: string | undefined;
  /** Starts a container whose main process is the agent, with Docker or Podman. */
  readonly container: string;
  /** What that container runs: for one that is there already, and has curl. */
  readonly inContainer: string;
}

/** Debian with curl and the authorities of systems. The agent needs the GNU C library. */
const containerImage = 'docker.io/library/buildpack-deps:stable-curl';

/** A container that starts again runs what is installed, also while the server is away. */
const startAgain =
  'f=/opt/platform; [ -s $f/etc/platform.json ] && [ -x $f/bin/platform-agent ] && exec $f/bin/platform-agent supervise --root $f --config $f/etc/platform.json';

/** Commands that install the agent of one machine, and need no credentials file. @param containerName - of the new container */
export function keyedCommands(
  of: KeyedInstall,
  agents: readonly StableRelease[],
  containerName: string,
): KeyedCommands {
  const values = `PLATFORM_API_KEY_ID=${of.keyId} PLATFORM_API_KEY=${of.key} PLATFORM_PART_ID=${of.partId}`;
  const windows = stableOf(agents).find(({ platform }) => platform === 'windows/amd64');
  const inContainer = `export ${values}; ${of.scriptCommand} | /bin/sh -s -- --container`;
  return {
    linux: `sudo /bin/sh -c "${values}; $(${of.scriptCommand})"`,
    windows: windows && keyedWindowsCommand(of, { url: windows.url, sha256: hexOf(windows.sha256) }),
    container: `docker run -d --restart unless-stopped --name ${containerName} -v ${containerName}:/opt/platform ${containerImage} /bin/sh -c '${startAgain}; ${inContainer}'`,
    inContainer,
  };
}

/** The same commands for machines that reach the server by another address than this page. */
export const atAddress = (of: KeyedInstall, agents: readonly StableRelease[], url: string) => ({
  install: { ...of, url, scriptCommand: installScriptCommand(url, of.authoritySha256 || undefined) },
  agents: agents.map((agent) => ({
    ...agent,
    url: agent.url.startsWith(`${of.url}/`) ? `${url}${agent.url.slice(of.url.length)}` : agent.url,
  })),
});

/** A name that Docker and Podman take, from that of a machine. */
export function containerNameOf(machineName: string): string {
  const words = machineName
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');
  return ['platform', ...words].join('-').slice(0, 60);
}

function keyedWindowsCommand(of: KeyedInstall, agent: { url: string; sha256: string }): string {
  const authority =
    of.authoritySha256 === ''
      ? []
      : [
          '$c = "$env:TEMP\\platform-authority.pem"',
          `curl.exe -fsSkL -o $c ${of.url}/authority.pem`,
          `if ((Get-FileHash $c).Hash -ne '${of.authoritySha256}') { throw 'This is not the authority that the page named.' }`,
        ];
  return [
    `$env:PLATFORM_URL = '${of.url}'`,
    `$env:PLATFORM_API_KEY_ID = '${of.keyId}'`,
    `$env:PLATFORM_API_KEY = '${of.key}'`,
    `$env:PLATFORM_PART_ID = '${of.partId}'`,
    ...authority,
    `${windowsInstallCommand(agent)}${authority.length > 0 ? ' --authority $c' : ''}`,
  ].join('; ');
}

export interface InstallCommands {
  readonly linux: string;
  /** For PowerShell; undefined: no agent for Windows is released. */
  readonly windows: string | undefined;
  /** The platforms whose machines find no agent in the channel "stable". */
  readonly missing: readonly ReleasePlatform[];
}

type StableRelease = Pick<Release, 'platform' | 'channels' | 'target' | 'url' | 'sha256'>;

/** The commands that install the agent, and the platforms that they do not work on yet. */
export function installCommands(scriptCommand: string, agents: readonly StableRelease[]): InstallCommands {
  const stable = stableOf(agents);
  const windows = stable.find(({ platform }) => platform === 'windows/amd64');
  return {
    linux: `${scriptCommand} | sudo sh`,
    windows: windows && windowsInstallCommand({ url: windows.url, sha256: hexOf(windows.sha256) }),
    missing: releasePlatforms.filter((one) => !stable.some(({ platform }) => platform === one)),
  };
}

const stableOf = (agents: readonly StableRelease[]): StableRelease[] =>
  agents.filter(({ channels, target }) => channels.includes('stable') && target !== '');

const hexOf = (bytes: Uint8Array): string => [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
