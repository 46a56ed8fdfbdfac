// A real agent whose clock is years off, against a management server with TLS. The host clock is right: the
// certificates and the server's time are years older or newer.
import assert from 'node:assert/strict';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { request } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { systemClock } from '@platform/kit/node';
import { issue, tempFolder, type Issued, type TempFolder } from '@platform/kit/testing';
import { runtimes, startAgent } from './running-agent.ts';
import { listen, sha256Of, TestCloud } from './test-cloud.ts';
import { tinyServer } from './tiny-server.ts';

const year = 365 * 86_400_000;
const now = Math.floor(systemClock.wall() / 1000) * 1000;

/** Terminates TLS in front of a server, with its own clock. */
async function inFront(port: number, { cert, key }: Issued, aheadMs: number) {
  const server = createServer({ cert, key }, (incoming, answer) => {
    const { method, headers, url } = incoming;
    const onward = request({ port, method, headers, path: url }, (got) => {
      const date = new Date(systemClock.wall() + aheadMs).toUTCString();
      answer.writeHead(got.statusCode ?? 502, { ...got.headers, date });
      got.pipe(answer);
    });
    onward.on('error', () => answer.destroy());
    answer.on('close', () => onward.destroy());
    incoming.pipe(onward);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Simulates a host without a synchronized clock. */
async function unsynchronized(folder: TempFolder): Promise<string> {
  await mkdir(folder.file('programs'));
  await writeFile(folder.file('programs', 'timedatectl'), '#!/bin/sh\necho no\n');
  await chmod(folder.file('programs', 'timedatectl'), 0o755);
  return `${folder.file('programs')}:${process.env['PATH']}`;
}

for (const [name, runtime] of Object.entries(runtimes)) {
  for (const [row, aheadMs] of [
    ['ten years behind', 10 * year],
    ['ahead, by less than the age of the program', -year / 100],
  ] as const) {
    test(`${name}: with a clock that is ${row}, the agent is online, fetches and says that the clock is wrong`, async () => {
      await using folder = await tempFolder();
      const cloud = new TestCloud(systemClock);
      await using plain = await listen(cloud);
      const authority = issue({ name: 'Root', from: now - 20 * year, to: now + 40 * year, authority: true });
      await writeFile(folder.file('ca.pem'), authority.cert);
      const dates = { from: now + aheadMs - 86_400_000, to: now + aheadMs + 60 * 60_000 };
      const certificate = issue({ name: 'cloud', by: authority, ips: ['127.0.0.1'], ...dates });
      await using server = await inFront(Number(new URL(plain.url).port), certificate, aheadMs);
      const bytes = Buffer.from(tinyServer('1.0.0'));
      const { pathname } = new URL(plain.publish('/1.0.0', { bytes }));
      cloud.serverRelease.set({ version: '1.0.0', sha256: sha256Of(bytes), url: `${server.url}${pathname}` });
      const env = { PATH: await unsynchronized(folder), NODE_EXTRA_CA_CERTS: folder.file('ca.pem') };
      await using agent = await startAgent(folder, cloud, server.url, { runtime, env });
      await agent.until('the cloud is reached', (s) => s.cloud.is_reached);
      await agent.until('1.0.0 runs', (s) => s.server.at === 'running' && s.server.version === '1.0.0');
      const wrong = await agent.until('the clock', (s) => s.conditions.find(({ code }) => code === 'CLOCK_WRONG'));
      assert.match(wrong.remedy, /time server/);
      const { at, agent: own } = await agent.until('the time', (s) => s);
      const off = Date.parse(at) - (systemClock.wall() + aheadMs);
      assert.ok(Math.abs(off) < 60_000, `it reports the time of the server: ${at}`);
      assert.ok(Date.parse(at) - Date.parse(own.started ?? '') < 10 * 60_000, 'and is up for minutes');
    });
  }
}
