// nginx and Caddy in front of the server, as long and as large as it gets: checks held for their full time, a file of 5 GiB.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { test } from 'node:test';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { createClient } from '@connectrpc/connect';
import { AgentDeviceService } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { longestHoldMs } from '@platform/kit';
import { systemClock } from '@platform/kit/node';
import { keep, timed } from '../lab/results.ts';
import type { CloudReady } from '../src/cloud-process.ts';
import { type Front, grpc, inFront, newMachine, ownerOf, protocols, signIn } from '../src/proxy-front.ts';

/** PLATFORM_LAB_UPLOAD_GIB: of the large file. */
const fileGib = Number(process.env['PLATFORM_LAB_UPLOAD_GIB'] ?? 5);

/** Every protocol at once: each check is held for its whole time, and none is cut off. */
async function longestChecks({ base }: Front, cloud: CloudReady, name: string): Promise<void> {
  const hostInfo = { platform: 'linux/amd64', tags: ['platform-agent'] };
  const held = Object.entries(protocols).map(async ([protocol, openTransport]) => {
    const transport = openTransport(base);
    const { partId, own } = await newMachine(transport, cloud, protocol);
    const agent = createClient(AgentDeviceService, transport);
    const { fingerprint } = await agent.deviceAgentConfig({ id: partId, hostInfo }, own);
    const ask = { id: partId, hostInfo, knownFingerprint: fingerprint, wait: durationFromMs(longestHoldMs) };
    const { seconds, value } = await timed(() => agent.deviceAgentConfig(ask, own));
    assert.equal(value.notModified, true, protocol);
    assert.ok(seconds * 1_000 > longestHoldMs - 1_000, `${protocol}: answered after ${seconds} s`);
    return seconds;
  });
  const seconds = await Promise.all(held);
  await keep(
    `${name}: checks held for their full time by ${seconds.length} protocols`,
    'operations',
    Math.max(...seconds),
  );
}

/** Bytes of all files below a folder. */
async function bytesBelow(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const sizes = entries
    .filter((entry) => entry.isFile())
    .map((entry) =>
      stat(path.join(entry.parentPath, entry.name)).then(
        ({ blocks }) => blocks * 512,
        () => 0,
      ),
    );
  return (await Promise.all(sizes)).reduce((sum, one) => sum + one, 0);
}

/** The proxy passes the file on as it comes: neither its memory nor its folder grows. */
async function largeUpload({ base, folder, proxy, curl }: Front, cloud: CloudReady, name: string): Promise<void> {
  const { headers } = await signIn(grpc(base), ownerOf(cloud));
  const file = await open(folder.file('large'), 'w');
  await file.truncate(fileGib * 2 ** 30); // without blocks on the disk; the server stores them all
  await file.close();
  const hash = createHash('sha256');
  await pipeline(createReadStream(folder.file('large'), { highWaterMark: 1 << 20 }), hash);
  const url = `${base}/blobs/${hash.digest('hex')}`;
  const most = { memory: 0, disk: 0 };
  const end = new AbortController();
  const watched = (async () => {
    while (!end.signal.aborted) {
      most.memory = Math.max(most.memory, proxy.residentMib());
      most.disk = Math.max(most.disk, await bytesBelow(folder.path));
      await systemClock.sleep(200, end.signal);
    }
  })();
  const before = proxy.residentMib();
  const bearer = ['-H', `authorization: ${headers.authorization}`];
  const upload = ['-o', '/dev/null', '-w', '%{http_code}', ...bearer, '-T', folder.file('large'), url];
  const { seconds, value } = await timed(() => curl(...upload));
  end.abort();
  await watched;
  assert.match(value, /^20[01]$/);
  assert.ok(most.disk < 2 ** 20, `the proxy stored ${most.disk} bytes`);
  assert.ok(most.memory - before < 256, `the proxy needed ${most.memory} MiB, ${before} MiB before`);
  const memory = `memory of the proxy ${before.toFixed(0)} → ${most.memory.toFixed(0)} MiB; stored by the proxy: ${most.disk} bytes`;
  await keep(`${name}: upload of ${fileGib} GiB`, 'operations', seconds, memory);
}

const timeout = 3_000_000;
const limit = ['--max-blob-mib', String(fileGib * 1024 + 1)];
for (const name of ['nginx', 'caddy'] as const)
  test(`${name} in front: checks held for 55 s by every protocol, and a large file`, { timeout }, () =>
    inFront(
      name,
      async (front, cloud) => {
        await longestChecks(front, cloud, name);
        await largeUpload(front, cloud, name);
      },
      ...limit,
    ),
  );
