import type { Release } from '@platform/contract/gen/platform/release/v1/release_pb';
import { windowsInstallCommand } from '@platform/contract/install-command';
import { releasePlatforms, type ReleasePlatform } from '@platform/contract/target-path';

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
