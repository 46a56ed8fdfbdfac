import { versionOf, type InstallStatus } from './state.ts';

/** The version that the management server names if a URL is desired. The build note then names the version. */
export const customVersion = 'customURL';

/** Ids of builds by URL → the source URL of each, without parts that may be secret. */
export type BuildUrls = Readonly<Record<string, string>>;

const longestUrl = 300;

/** A URL for display, without user, password, query and fragment: they may contain a token. */
export function shownUrl(text: string): string {
  if (!URL.canParse(text)) return text.slice(0, longestUrl);
  const { protocol, host, pathname, search } = new URL(text);
  const whole = `${protocol}//${host}${pathname}${search === '' ? '' : '?…'}`;
  return whole.length <= longestUrl ? whole : `${whole.slice(0, longestUrl - 1)}…`;
}

export const isCustom = (id: string): boolean => /^customURL(?:\+|$)/.test(versionOf(id));

/** An installed version for display. Builds by URL all have the same version, so their URL and hash identify them. */
export function shownVersion(id: string, urls: BuildUrls): string {
  if (!isCustom(id)) return versionOf(id);
  const note = versionOf(id).slice(customVersion.length + 1);
  return `${urls[id] ?? 'a build by URL'} (${note === '' ? '' : `${note}, `}sha256 ${id.slice(-12)})`;
}

/**
 * Id of the version that the management server desires; null: unknown, or another version was pinned on the machine.
 */
export const desiredId = ({ pin, look }: Pick<InstallStatus, 'pin' | 'look'>): string | null =>
  pin === '' ? look.desired : null;

/** The running program for display: a build by URL is identified by its URL instead of its own version. */
export const shownOwn = (version: string, { running, urls }: Pick<InstallStatus, 'running' | 'urls'>): string =>
  running !== null && isCustom(running) ? shownVersion(running, urls) : version;

interface Asked {
  version: string;
  url: string;
  /** Text of the configuration. */
  desired: string;
}

/** The desired version for display, as it was requested. @param id - null: its content is not known yet. */
export function describeRequested({ version, url, desired }: Asked, id: string | null, urls: BuildUrls): string {
  if (version !== customVersion) return version;
  const given = shownUrl(URL.canParse(desired) ? desired : url);
  return id !== null && isCustom(id) ? shownVersion(id, { [id]: given, ...urls }) : given;
}

/**
 * The same, with the installed name for content that is stored already: one list must not show two names for one
 * version.
 */
export const shownDesired = (asked: Asked, id: string | null, urls: BuildUrls): string =>
  asked.version === customVersion && id !== null && !isCustom(id) ? versionOf(id) : describeRequested(asked, id, urls);
