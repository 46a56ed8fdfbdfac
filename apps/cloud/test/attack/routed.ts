import { globSync } from 'node:fs';
import path from 'node:path';
import type { DescMethod, DescService } from '@bufbuild/protobuf';
import { type HttpDeps, httpRoutes } from '../../src/http-routes.ts';
import type { Route } from '../../src/wire/exchange.ts';
import { outcomeOf, pathOf, type Wire } from './ask.ts';

const generated = path.resolve(import.meta.dirname, '../../../../packages/contract/src/gen');

/** Finds every service that the contract describes. */
async function describedServices(): Promise<DescService[]> {
  const found: DescService[] = [];
  for (const file of globSync('**/*_pb.ts', { cwd: generated }).toSorted()) {
    const exported = (await import(path.join(generated, file))) as Record<string, DescService | undefined>;
    found.push(...Object.values(exported).filter((one): one is DescService => one?.kind === 'service'));
  }
  return found;
}

/** Finds the calls with a handler: the server answers other calls as an unknown method. */
export async function routedCalls(wire: Wire): Promise<DescMethod[]> {
  const routed: DescMethod[] = [];
  for (const service of await describedServices())
    for (const method of service.methods) {
      const headers = { 'content-type': 'application/json', 'connect-protocol-version': '1' };
      const answer = await wire.send({ method: 'POST', path: pathOf(method), headers, body: '{}' });
      if (outcomeOf(answer).row !== 'UNKNOWN_METHOD') routed.push(method);
    }
  return routed;
}

/** Lists every HTTP route that is not an RPC; runs no handler. */
export function listedRoutes(): Route[] {
  const nothing: unknown = new Proxy(() => undefined, { get: () => nothing, apply: () => nothing });
  return httpRoutes(nothing as HttpDeps, { blobLimitBytes: 1, webFolder: undefined });
}
