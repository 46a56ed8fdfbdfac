// Connections through a proxy, in both runtimes: real sockets, real processes.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { test } from 'node:test';
import { systemClock } from '@platform/kit/node';
import { proxyTo } from '@platform/kit/testing';
import { listen, TestCloud } from './test-cloud.ts';

const bun = path.resolve(
  import.meta.dirname,
  `../../../node_modules/@oven/bun-linux-${process.arch === 'arm64' ? 'aarch64' : 'x64'}/bin/bun`,
);

async function probe(program: string, env: Record<string, string>, ...urls: string[]): Promise<string[]> {
  const args = [path.join(import.meta.dirname, 'link-probe.ts'), ...urls];
  const child = spawn(program, program === bun ? args : ['--disable-warning=ExperimentalWarning', ...args], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (part: Buffer) => (output += part.toString()));
  assert.deepEqual(await once(child, 'close'), [0, null]);
  return output.trim().split('\n');
}

for (const [name, program] of [
  ['node', process.execPath],
  ['bun', bun],
] as const) {
  test(`${name}: the cloud is reached by the proxy of the environment, this machine never`, async () => {
    const cloud = new TestCloud(systemClock);
    await using server = await listen(cloud);
    await using proxy = await proxyTo(Number(new URL(server.url).port));
    const env = { HTTP_PROXY: `http://me:pw@${proxy.url}`, HTTPS_PROXY: `http://${proxy.url}` };
    assert.deepEqual(await probe(program, env, 'http://cloud.invalid', server.url), [
      'CLOUD_REFUSES_MACHINE',
      'CLOUD_REFUSES_MACHINE',
    ]);
    assert.ok(proxy.asked.length > 0, 'it received a request');
    assert.ok(
      proxy.asked.every((line) => line.includes('cloud.invalid')),
      proxy.asked.join(),
    );
    const excepted = { ...env, NO_PROXY: 'cloud.invalid' };
    assert.deepEqual(await probe(program, excepted, 'http://cloud.invalid'), ['CLOUD_NAME_UNKNOWN']);
    assert.deepEqual(await probe(program, { HTTP_PROXY: 'http://127.0.0.1:1' }, 'http://cloud.invalid'), [
      'CLOUD_UNREACHABLE',
    ]);
    const forAll = proxy.asked.length;
    assert.deepEqual(await probe(program, { all_proxy: proxy.url }, 'http://cloud.invalid'), ['CLOUD_REFUSES_MACHINE']);
    assert.ok(proxy.asked.length > forAll, 'a proxy for everything, named without its kind');
    // An unsupported proxy must not end the agent, which must report it: see useProxiesOf.
    assert.deepEqual(await probe(program, { https_proxy: 'socks5://127.0.0.1:1' }, server.url), [
      'CLOUD_REFUSES_MACHINE',
    ]);
    const tls = proxy.asked.length;
    await probe(program, env, 'https://cloud.invalid');
    assert.match(proxy.asked.slice(tls).join(), /^CONNECT cloud\.invalid:443/);
  });
}
