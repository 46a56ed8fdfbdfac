import type { Release } from '@platform/contract/gen/platform/release/v1/release_pb';

export interface VersionChoice {
  value: string;
  text: string;
}

/** The choice of a URL that the user has not typed yet. */
export const otherChoice = 'other';
/** The choice of the default: the configuration names no version. */
export const defaultChoice = '';

const isUrl = (version: string): boolean => /^(https?|file):/i.test(version);

/**
 * Lists the choices for a program of a machine: the channels, the published versions (newest first) and the current
 * choice.
 * @param program - platform-agent or platform-server.
 * @param platform - of the machine; empty: unknown, so every version is offered.
 */
export function versionChoices(
  releases: readonly Release[],
  program: string,
  platform: string,
  chosen: string,
): VersionChoice[] {
  const own = releases.filter(({ name, revokedOn }) => name === program && revokedOn === undefined);
  const fitting = own.filter((release) => platform === '' || release.platform === platform);
  const versions = [...new Set(fitting.map(({ version }) => version))];
  const channelText = (channel: string): string => {
    const at = own.find(({ channels }) => channels.includes(channel));
    return at ? `${channel} (now ${at.version})` : channel;
  };
  const choices = [
    { value: defaultChoice, text: `Default: ${channelText('stable')}` },
    { value: 'stable', text: channelText('stable') },
    { value: 'dev', text: channelText('dev') },
    ...versions.map((version) => ({ value: version, text: version })),
  ];
  if (!choices.some(({ value }) => value === chosen)) {
    const text = isUrl(chosen) ? chosen : `${chosen} (not published${platform && ` for ${platform}`})`;
    choices.push({ value: chosen, text });
  }
  return [...choices, { value: otherChoice, text: 'Another version or address …' }];
}
