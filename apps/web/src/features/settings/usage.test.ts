import assert from 'node:assert/strict';
import test from 'node:test';
import { create } from '@bufbuild/protobuf';
import { GetUsageResponseSchema } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { usagePairs } from './usage.ts';

const rows: readonly [name: string, usage: { usedBytes?: bigint; limitBytes?: bigint }, files: string][] = [
  ['nothing', {}, '0 B, no limit'],
  ['without a limit', { usedBytes: 4_200_000n }, '4.2 MB, no limit'],
  ['with a limit', { usedBytes: 4_200_000n, limitBytes: 1_073_741_824n }, '4.2 MB of 1.1 GB'],
];
for (const [name, usage, files] of rows)
  test(`usage: ${name}`, () => {
    const pairs = new Map(usagePairs(create(GetUsageResponseSchema, usage)));
    assert.equal(pairs.get('Files'), files);
    assert.equal(pairs.get('Machines'), '0');
  });
