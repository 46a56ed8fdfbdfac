import { createHash } from 'node:crypto';
import type { Clock } from '@platform/kit';
import type { Web, WebAnswer } from '../ports.ts';

/** The outcome of an answer or of a chunk of its body. */
export type WebFate =
  | 'ok'
  /** The connection ends with an error. */
  | 'error'
  /** The body ends early, without an error. */
  | 'short'
  /** The content differs from the release. */
  | 'wrong'
  /** HTTP status. */
  | number;

/** The servers outside a simulated device: what URLs return. */
export interface SimReleases {
  files: Map<string, Uint8Array>;
  /** Answers instead of a file: a status and its headers. */
  answers: Map<string, { status: number; headers: Record<string, string> }>;
  /** False: no server can be reached. */
  isReachable: boolean;
  /** Requests never get an answer. */
  isStuck: boolean;
  chunkBytes: number;
  /** Called before each answer and each chunk of one. */
  fate: (url: string, what: 'answer' | 'part') => WebFate;
}

export const simReleases = (): SimReleases => ({
  files: new Map(),
  answers: new Map(),
  isReachable: true,
  isStuck: false,
  chunkBytes: 2 ** 20,
  fate: () => 'ok',
});

const answerMs = 1_000;

export function simWeb(releases: SimReleases, clock: Clock): Web {
  return {
    async ask(method, url, headers, signal): Promise<WebAnswer> {
      if (method === 'GET') await clock.sleep(answerMs, signal);
      if (releases.isStuck) await clock.sleep(Infinity, signal);
      signal.throwIfAborted();
      const fate = releases.fate(url, 'answer');
      if (!releases.isReachable || fate === 'error') throw new Error('out of reach');
      const given = releases.answers.get(url);
      if (given) return { status: given.status, headers: new Map(Object.entries(given.headers)), body: parts([]) };
      const bytes = releases.files.get(url);
      if (typeof fate === 'number' || !bytes) {
        return { status: typeof fate === 'number' ? fate : 404, headers: new Map(), body: parts([]) };
      }
      const etag = `"${createHash('sha256').update(bytes).digest('hex')}"`;
      const from = Number(/^bytes=(\d+)-$/.exec(headers['range'] ?? '')?.[1] ?? 0);
      const isPart = from > 0 && headers['if-range'] === etag;
      if (isPart && from >= bytes.length) return { status: 416, headers: new Map(), body: parts([]) };
      const rest = bytes.subarray(isPart ? from : 0);
      const chunks: Uint8Array[] = [];
      for (let at = 0; at < rest.length; at += releases.chunkBytes) {
        chunks.push(rest.slice(at, at + releases.chunkBytes));
      }
      return {
        status: isPart ? 206 : 200,
        headers: new Map([
          ['etag', etag],
          ['content-length', String(rest.length)],
          ...(isPart ? [['content-range', `bytes ${from}-${bytes.length - 1}/${bytes.length}`] as const] : []),
        ]),
        body: method === 'HEAD' ? parts([]) : parts(chunks, () => releases.fate(url, 'part')),
      };
    },
  };
}

async function* parts(chunks: readonly Uint8Array[], fate: () => WebFate = () => 'ok'): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) {
    const what = fate();
    if (what === 'error' || typeof what === 'number') throw new Error('the connection was lost');
    if (what === 'short') return;
    yield what === 'wrong' ? chunk.map((byte) => byte ^ 1) : chunk;
  }
}
