/** Differences between browsers and versions of Node. */

type WebCrypto = typeof globalThis.crypto;

interface Process {
  readonly env: Readonly<Record<string, string | undefined>>;
  getBuiltinModule?(name: 'node:crypto'): NodeCrypto;
}

/** The part of node:crypto that this client uses. */
export interface NodeCrypto {
  createHash(name: 'sha256'): { update(bytes: Uint8Array): unknown; digest(encoding: 'hex'): string };
  readonly webcrypto: WebCrypto;
}

const thisProcess = (): Process | undefined => (globalThis as { process?: Process }).process;

/** Reads an environment variable; undefined in a browser. */
export const environment = (name: string): string | undefined => thisProcess()?.env[name];

/** Undefined in a browser and in Node 18. */
export const nodeCrypto = (): NodeCrypto | undefined => thisProcess()?.getBuiltinModule?.('node:crypto');

/** Node 18 has Web Crypto only as a module. The name is in a variable so that no bundler resolves that module. */
export async function webCrypto(): Promise<WebCrypto> {
  const known = (globalThis as { crypto?: WebCrypto }).crypto;
  if (known) return known;
  const name = 'node:crypto';
  return ((await import(name)) as NodeCrypto).webcrypto;
}

/** Aborts with the first of two signals. Node 18 has no AbortSignal.any. */
export function eitherSignal(first: AbortSignal | undefined, second: AbortSignal): AbortSignal {
  if (!first) return second;
  if ('any' in AbortSignal) return AbortSignal.any([first, second]);
  const both = new AbortController();
  for (const one of [first, second]) {
    const abort = (): void => both.abort(one.reason);
    if (one.aborted) abort();
    else one.addEventListener('abort', abort, { once: true, signal: both.signal });
  }
  return both.signal;
}
