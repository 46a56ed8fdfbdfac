import { versionOf, type InstallStatus } from './state.ts';

/** The version that the management server names when a URL is desired; the build then says what it is. */
export const customVersion = 'customURL';

/** Ids of builds by URL → the URL that each was fetched from, without what may be secret in it. */
export type BuildUrls = Readonly<Record<string, string>>;

const longestUrl = 300;

/** A URL as it may be shown: without a user, a password, a query or a fragment, which may hold a token. */
export function shownUrl(text: string): string {
  if (!URL.canParse(text)) return text.slice(0, longestUrl);
  const { protocol, host, pathname, search } = new URL(text);
  const whole = `${protocol}//${host}${pathname}${search === '' ? '' : '?…'}`;
  return whole.length <= longestUrl ? whole : `${whole.slice(0, longestUrl - 1)}…`;
}

export const isCustom = (id: string): boolean => /^customURL(?:\+|$)/.test(versionOf(id));

/** An installed version for people. A build by URL is named by that URL and its hash: all of them have the same version. */
export function shownVersion(id: string, urls: BuildUrls): string {
  if (!isCustom(id)) return versionOf(id);
  const note = versionOf(id).slice(customVersion.length + 1);
  return `${urls[id] ?? 'a build by URL'} (${note === '' ? '' : `${note}, `}sha256 ${id.slice(-12)})`;
}

/** Of what the management server desires; null: nobody knows, or something else was pinned on the machine. */
export const desiredId = ({ pin, look }: Pick<InstallStatus, 'pin' | 'look'>): string | null =>
  pin === '' ? look.desired : null;

/** A program that knows its own version: how it is called where that says too little. */
export const shownOwn = (version: string, { running, urls }: Pick<InstallStatus, 'running' | 'urls'>): string =>
  running !== null && isCustom(running) ? shownVersion(running, urls) : version;

interface Asked {
  version: string;
  url: string;
  /** As the configuration has it. */
  wish: string;
}

/** What is desired, as it was asked for. @param id - of it; null: its content is not known yet. */
export function shownAsked({ version, url, wish }: Asked, id: string | null, urls: BuildUrls): string {
  if (version !== customVersion) return version;
  const given = shownUrl(URL.canParse(wish) ? wish : url);
  return id !== null && isCustom(id) ? shownVersion(id, { [id]: given, ...urls }) : given;
}

/** The same by the name that it has where it is here already: one version must not have two names in a row of them. */
export const shownDesired = (asked: Asked, id: string | null, urls: BuildUrls): string =>
  asked.version === customVersion && id !== null && !isCustom(id) ? versionOf(id) : shownAsked(asked, id, urls);
