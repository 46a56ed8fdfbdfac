import type { ConfigContent } from '../state/state.ts';

const mostRevisions = 50;
const mostContents = 4;

/** Contents that this machine received under each number of a revision, newest number last. Pure; stored by its user. */
export type ReceivedContents = Readonly<Record<string, readonly string[]>>;

/** @returns the same object if the content is known. */
export function withContent(known: ReceivedContents, { revision, configSha256 }: ConfigContent): ReceivedContents {
  const before = known[revision] ?? [];
  if (configSha256 === '' || before.at(-1) === configSha256) return known;
  const contents = [...before.filter((one) => one !== configSha256), configSha256].slice(-mostContents);
  const others = Object.entries(known).filter(([number]) => number !== String(revision));
  return Object.fromEntries([...others.slice(1 - mostRevisions), [String(revision), contents]]);
}

/** After a restored backup, a number comes again with another content. */
export const hadOtherContent = (known: ReceivedContents, { revision, configSha256 }: ConfigContent): boolean =>
  (known[revision] ?? []).some((one) => one !== configSha256);

export function receivedContentsOf(value: unknown): ReceivedContents {
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  return Object.fromEntries(
    entries.flatMap(([number, contents]: [string, unknown]) =>
      Array.isArray(contents) ? [[number, contents.filter((one) => typeof one === 'string')] as const] : [],
    ),
  );
}
