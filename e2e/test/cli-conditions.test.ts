// What needs attention on the command line: listed, filtered, muted and listed again.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Severity } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { clientOf, startCloud } from '../src/cloud-process.ts';
import { runCli } from '../src/up-process.ts';
import { wireMachine } from '../src/wire-callers.ts';

type Json = Record<string, unknown>;

test('conditions are listed, muted and unmuted, by the start of an ID', async () => {
  await using cloud = await startCloud();
  const { ready } = cloud;
  const { fleetClient, conditionClient } = clientOf(ready);
  const organizationId = ready.org_id;
  const made = await fleetClient.createMachine({ organizationId, name: 'barn' });
  const full = { code: 'DISK_FULL', severity: Severity.ERROR, message: 'No space is free.', remedy: 'Delete files.' };
  await (await wireMachine(made.credentialsJson)).check({ conditions: [full] });
  while ((await conditionClient.listConditions({ organizationId, code: full.code })).conditions.length === 0) continue;

  const env = { PLATFORM_URL: ready.url, PLATFORM_API_KEY_ID: ready.api_key_id, PLATFORM_API_KEY: ready.api_key };
  const cli = (...args: string[]) => runCli(env, 'conditions', ...args);
  const listed = async (...args: string[]): Promise<Json[]> => {
    const { code, stdout, stderr } = await cli('list', ...args, '--json');
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout) as Json[];
  };
  const text = (await cli()).stdout;
  assert.match(text, /error +barn +DISK_FULL: No space is free\. +\d+ (s|min) +Delete files\./);
  assert.match(text, /1 errors, 0 warnings, 1 notes; measured \d+ s ago\./);
  const [one] = await listed('--machine', 'barn', '--severity', 'error');
  assert.deepEqual([one?.['subject_name'], one?.['mute'], one?.['ended_on']], ['barn', null, null]);
  const codes = (rows: readonly Json[]): unknown[] => rows.map(({ code }) => code);
  assert.deepEqual(codes(await listed('--subject', 'server')), ['BACKUP_NOT_SCHEDULED']);
  assert.deepEqual(codes(await listed('--text', 'nothing like it')), []);

  const id = String(one?.['id']).slice(0, 8);
  assert.match((await cli('mute', id)).stderr, /--reason/);
  assert.match((await cli('mute', id, '--reason', 'x', '--for', '91d')).stderr, /at most 90 days/);
  assert.match((await cli('mute', 'ffffffff', '--reason', 'x')).stderr, /CONDITION_NOT_FOUND/);
  assert.match((await cli('mute', id, '--reason', 'a new disk', '--for', '7d')).stdout, /Muted: DISK_FULL of barn/);
  assert.deepEqual(codes(await listed('--machine', 'barn')), []);
  const [muted] = await listed('--state', 'muted');
  assert.deepEqual((muted?.['mute'] as Json | undefined)?.['reason'], 'a new disk');
  assert.match((await cli('unmute', id)).stdout, /Not muted any more: DISK_FULL of barn/);
  assert.deepEqual(codes(await listed('--machine', 'barn')), ['DISK_FULL']);
});
