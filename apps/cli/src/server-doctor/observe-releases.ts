import { errorText } from '@platform/kit';
import type { FoundServer, ReleasesSeen } from './observations.ts';

interface Document {
  readonly signed: {
    readonly version: number;
    readonly expires: string;
    readonly meta?: Readonly<Record<string, { readonly version: number } | undefined>>;
    readonly targets?: Readonly<
      Record<string, { readonly custom?: { readonly name?: string; readonly platform?: string } }>
    >;
  };
}

const answerMs = 8_000;

/** Reads the signed documents as a machine would, without a check of their signatures. */
export async function observeReleases({ pid, localUrl }: FoundServer): Promise<ReleasesSeen | undefined> {
  if (pid === undefined || localUrl === undefined) return undefined;
  const read = async (name: string): Promise<Document | undefined> => {
    const response = await fetch(`${localUrl}/tuf/${name}.json`, { signal: AbortSignal.timeout(answerMs) });
    if (response.ok) return (await response.json()) as Document;
    await response.body?.cancel();
    if (response.status === 404) return undefined;
    throw new Error(`/tuf/${name}.json answers ${response.status}`);
  };
  const versioned = (of: Document | undefined, role: string): Promise<Document | undefined> =>
    read(`${of?.signed.meta?.[`${role}.json`]?.version ?? 0}.${role}`);
  const newestRoot = async (n = 1, before?: Document): Promise<Document | undefined> => {
    const rootText = await read(`${n}.root`);
    return rootText ? newestRoot(n + 1, rootText) : before;
  };
  try {
    const root = await newestRoot();
    if (!root) return { problem: 'none was published' };
    const timestamp = await read('timestamp');
    const snapshot = await versioned(timestamp, 'snapshot');
    const targets = await versioned(snapshot, 'targets');
    const documents = Object.entries({ root, targets, snapshot, timestamp }).map(([name, document]) => ({
      name,
      expires: document ? Date.parse(document.signed.expires) : 0,
    }));
    const programs = Object.values(targets?.signed.targets ?? {}).flatMap(({ custom }) =>
      custom?.name === undefined ? [] : [`${custom.name} ${custom.platform ?? ''}`],
    );
    return { programs, documents };
  } catch (error) {
    return { problem: errorText(error) };
  }
}
