import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PlatformError } from '@platform/contract/errors/errors';
import { installerHeader, keyHeader, keyIdHeader } from '@platform/contract/provisioning/install-key';
import { Secret } from '@platform/kit';
import { FakeClock } from '@platform/kit/testing';
import { withReports } from './report-steps.ts';

function recorded(answer: () => Promise<Response> = async () => new Response(null, { status: 204 })) {
  const steps: string[][] = [];
  const send: typeof fetch = (input, init) => {
    const { pathname, searchParams } = new URL(String(input));
    const headers = new Headers(init?.headers);
    steps.push([
      `${init?.method} ${pathname}`,
      searchParams.get('step') ?? '',
      searchParams.get('detail') ?? '',
      [keyIdHeader, keyHeader, installerHeader].map((name) => headers.get(name)).join(' '),
    ]);
    return answer();
  };
  return { steps, parts: { send, clock: new FakeClock(), platform: 'windows/amd64', done: 'it is a service' } };
}
const asked = (key: string) => ({
  url: 'https://fleet.example:8443',
  apiKey: { id: 'i', key: new Secret(key), installer: 'n' },
});

test('an installation with a one-time key reports its start and its end', async () => {
  const { steps, parts } = recorded();
  assert.equal(await withReports(asked('once_k'), parts, async () => 7), 7);
  const call = 'POST /api/install-steps';
  assert.deepEqual(steps, [
    [call, 'started', 'windows/amd64', 'i once_k n'],
    [call, 'installed', 'it is a service', 'i once_k n'],
  ]);
});

test('a failure is reported with its reason and what to do, and stays the same failure', async () => {
  const { steps, parts } = recorded();
  const failure = new PlatformError('DISK_FULL');
  await assert.rejects(
    withReports(asked('once_k'), parts, () => Promise.reject(failure)),
    failure,
  );
  assert.deepEqual(
    steps.map(([, step, detail]) => [step, detail]),
    [
      ['started', 'windows/amd64'],
      ['failed', `${failure.what} ${failure.remedy}`],
    ],
  );
});

test('another key is sent nowhere, and a report that fails changes nothing', async () => {
  const other = recorded();
  assert.equal(await withReports(asked('key of a user'), other.parts, async () => 7), 7);
  assert.equal(await withReports(undefined, other.parts, async () => 7), 7);
  assert.deepEqual(other.steps, []);
  const broken = recorded(() => Promise.reject(new TypeError('fetch failed')));
  assert.equal(await withReports(asked('once_k'), broken.parts, async () => 7), 7);
  assert.equal(broken.steps.length, 2);
});
