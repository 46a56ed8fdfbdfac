import type { Release } from './gen/platform/release/v1/release_pb.ts';
import { releasePlatforms, type ReleasePlatform } from './target-path.ts';

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
  const stable = agents.filter(({ channels, target }) => channels.includes('stable') && target !== '');
  const windows = stable.find(({ platform }) => platform === 'windows/amd64');
  return {
    linux: `${scriptCommand} | sudo sh`,
    windows: windows && windowsInstallCommand({ url: windows.url, sha256: hexOf(windows.sha256) }),
    missing: releasePlatforms.filter((one) => !stable.some(({ platform }) => platform === one)),
  };
}

const hexOf = (bytes: Uint8Array): string => [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
