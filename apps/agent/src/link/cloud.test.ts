import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRouterTransport } from '@connectrpc/connect';
import { AgentDeviceService } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import { AuthService } from '@platform/contract/gen/proto/rpc/v1/auth_pb';
import { Cell } from '@platform/kit';
import { FakeClock } from '@platform/kit/testing';
import { connectCloud } from './cloud.ts';
import type { Condition } from '../health/conditions.ts';

test('who is signing in for all and gives up leaves the others signed in, and nothing to worry about', async () => {
  const gate = Promise.withResolvers<void>();
  const signIns = { count: 0 };
  const transport = createRouterTransport(({ service }) => {
    service(AuthService, {
      authenticate: async () => {
        signIns.count++;
        await gate.promise;
        return { accessToken: 'token' };
      },
    });
    service(RobotService, { needsRestart: ({ id }) => ({ id, mustRestart: true }) });
  });
  const [clock, isReached, conditions] = [new FakeClock(), new Cell(false), new Cell<readonly Condition[]>([])];
  const credentials = {
    appAddress: 'https://cloud.example',
    partId: 'p',
    entity: 'p',
    type: 'robot-secret',
    payload: 's',
  } as const;
  const cloud = connectCloud(transport, credentials, clock, { isReached, conditions });
  const first = new AbortController();
  const given = assert.rejects(cloud.needsRestart(first.signal), /enough/);
  const other = cloud.needsRestart(new AbortController().signal);
  await clock.settle();
  first.abort(new Error('enough'));
  await given;
  gate.resolve();
  assert.equal((await other).mustRestart, true);
  assert.deepEqual([signIns.count, isReached.get(), conditions.get(), clock.pending], [1, true, [], 0]);
});

test('each check names the run; what is meant for it alone is passed on and not stored', async () => {
  const runs: Uint8Array[] = [];
  const transport = createRouterTransport(({ service }) => {
    service(AuthService, { authenticate: () => ({ accessToken: 'token' }) });
    service(AgentDeviceService, {
      deviceAgentConfig: ({ runId }) => {
        runs.push(runId);
        return { fingerprint: 'f', setUpCode: runs.length === 1 ? 'ABCDEFGH' : '', sendReport: runs.length === 1 };
      },
    });
  });
  const credentials = {
    appAddress: 'https://cloud.example',
    partId: 'p',
    entity: 'p',
    type: 'robot-secret',
    payload: 's',
  } as const;
  const orders: string[] = [];
  const personal = { split: (code: string) => orders.push(code), sendReport: () => orders.push('report') };
  const observers = { isReached: new Cell(false), runId: new Uint8Array(16).fill(7), personal };
  const cloud = connectCloud(transport, credentials, new FakeClock(), observers);
  for (let n = 0; n < 2; n++) {
    const answer = await cloud.deviceAgentConfig({ id: 'p' }, 0, new AbortController().signal);
    assert.deepEqual([answer.fingerprint, answer.setUpCode, answer.sendReport], ['f', '', false]);
  }
  assert.deepEqual(orders, ['ABCDEFGH', 'report']);
  assert.deepEqual(runs, [observers.runId, observers.runId]);
});
