import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRouterTransport } from '@connectrpc/connect';
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
