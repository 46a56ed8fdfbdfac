// docs/generated/rpc.md lists the offered calls; this test compares it with the server.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import type { DescMethod, DescService } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { type TestServer, testServer } from './server.ts';

const root = path.resolve(import.meta.dirname, '../../..');
const generated = path.join(root, 'packages/contract/src/gen');

async function services(): Promise<DescService[]> {
  const found: DescService[] = [];
  for (const file of globSync('**/*_pb.ts', { cwd: generated }).toSorted()) {
    const exported = (await import(path.join(generated, file))) as Record<string, DescService | undefined>;
    found.push(...Object.values(exported).filter((one): one is DescService => one?.kind === 'service'));
  }
  return found;
}

/** Reads the calls from the document. */
function listed(): Set<string> {
  const names = new Set<string>();
  const text = readFileSync(path.join(root, 'docs/generated/rpc.md'), 'utf8');
  for (const [, service = '', table = ''] of text.matchAll(/^### (\S+)\n([^]*?)(?=^###? |(?![^]))/gm))
    for (const [, method] of table.matchAll(/^\| ([A-Z]\w+) \|/gm))
      if (method !== 'Method') names.add(`${service}/${method}`);
  return names;
}

/** Makes an empty call as the owner of the installation. */
async function isOffered(on: TestServer, service: DescService, method: DescMethod): Promise<boolean> {
  const client = (await on.client(service)) as unknown as Record<string, (...args: unknown[]) => unknown>;
  const stop = new AbortController();
  const nothing = async function* () {
    yield {};
  };
  const isFed = method.methodKind === 'client_streaming' || method.methodKind === 'bidi_streaming';
  try {
    const answer = client[method.localName]?.(isFed ? nothing() : {}, { signal: stop.signal, timeoutMs: 10_000 });
    if (method.methodKind === 'server_streaming') {
      for await (const _ of answer as AsyncIterable<unknown>) break;
    } else await answer;
    return true;
  } catch (error) {
    return ConnectError.from(error).code !== Code.Unimplemented;
  } finally {
    stop.abort();
  }
}

test('the document lists the calls that are offered, and no others', async () => {
  await using on = await testServer();
  const offered: string[] = [];
  for (const service of await services())
    for (const method of service.methods)
      if (await isOffered(on, service, method)) offered.push(`${service.typeName}/${method.name}`);
  assert.ok(offered.length > 100);
  assert.deepEqual([...listed()].toSorted(), offered.toSorted());
});
