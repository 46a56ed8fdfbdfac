import { PlatformError } from '@platform/contract/errors/errors';

export interface InstallerValues {
  /** URL of this server, as the caller reaches it. */
  url: string;
  /** PEM of the key that signs the list of checksums; empty: nothing is published yet. */
  releaseKey: string;
  /** The agent's first trusted root: the newest root document of the release keys. */
  trustedRoot: { version: number; sha256: string } | undefined;
  /** Version of the agent by channel. */
  channels: Readonly<Record<string, string>>;
  /** The agents of these versions, for machines that cannot check a signature. */
  agents: readonly { version: string; platform: string; sha256: string }[];
  /** PEM of an authority that machines trust for this server in addition to those of their system; empty: none. */
  authority: string;
  action: 'install' | 'uninstall';
}

/** The script quotes each value with single quotes, so a value must not contain one. */
const allowed: Readonly<Record<string, RegExp>> = {
  URL: /^https?:\/\/[A-Za-z0-9.:[\]-]+(\/[A-Za-z0-9._~/-]*)?$/,
  RELEASE_KEY: /^[A-Za-z0-9+/= \n-]*$/,
  TRUSTED_ROOT: /^([0-9]+ [0-9a-f]{64})?$/,
  CHANNELS: /^[A-Za-z0-9.+ \n-]*$/,
  AUTHORITY: /^[A-Za-z0-9+/= \n-]*$/,
  AGENTS: /^([A-Za-z0-9.+-]+ [a-z0-9-]+ [0-9a-f]{64}\n?)*$/,
  ACTION: /^[a-z]+$/,
};

/** @throws PlatformError INVALID_ARGUMENT if a value could become code of the script, such as a forged Host header */
export function renderInstaller(template: string, values: InstallerValues): string {
  const filled: Readonly<Record<string, string>> = {
    URL: values.url,
    RELEASE_KEY: values.releaseKey.trim(),
    TRUSTED_ROOT: values.trustedRoot ? `${values.trustedRoot.version} ${values.trustedRoot.sha256}` : '',
    CHANNELS: Object.entries(values.channels)
      .map((pair) => pair.join(' '))
      .join('\n'),
    // Over plain http an attacker can change the script, so its checksums would prove nothing.
    AGENTS: (values.url.startsWith('https://') ? values.agents : [])
      .map(({ version, platform, sha256 }) => `${version} ${platform} ${sha256}`)
      .join('\n'),
    AUTHORITY: values.url.startsWith('https://') ? values.authority.trim() : '',
    ACTION: values.action,
  };
  return template.replace(/@PLATFORM_([A-Z_]+)@/g, (_, name: string) => {
    const value = filled[name] ?? '';
    if (allowed[name]?.test(value) !== true)
      throw new PlatformError('INVALID_ARGUMENT', { field: name, value: value.slice(0, 80), limit: 'a plain address' });
    return value;
  });
}
