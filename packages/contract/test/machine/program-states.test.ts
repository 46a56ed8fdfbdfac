import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  NetworkAttemptResultSchema,
  NetworkConnectivitySchema,
  NetworkLinkStateSchema,
  NetworkLinkTypeSchema,
  NetworkModeSchema,
  ServerStateSchema,
  SliceStateSchema,
  UpdateStateSchema,
} from '../../src/gen/platform/fleet/v1/fleet_pb.ts';
import {
  attemptResults,
  connectivities,
  linkStates,
  linkTypes,
  networkModes,
} from '../../src/machine/network-states.ts';
import { serverStates, sliceStates, textOfState, updateStates } from '../../src/machine/program-states.ts';

const tables = [
  ['machine server', serverStates, ServerStateSchema],
  ['update', updateStates, UpdateStateSchema],
  ['slice', sliceStates, SliceStateSchema],
  ['network', networkModes, NetworkModeSchema],
  ['path to the internet', connectivities, NetworkConnectivitySchema],
  ['kind of link', linkTypes, NetworkLinkTypeSchema],
  ['link', linkStates, NetworkLinkStateSchema],
  ['attempt to join a network', attemptResults, NetworkAttemptResultSchema],
] as const;
for (const [name, states, schema] of tables) {
  test(`states of a ${name}: one row for each value on the wire, each with its own text`, () => {
    const rows = Object.values<{ wire: number; text: string }>(states);
    const values = schema.values.map(({ number }) => number).filter((number) => number !== 0);
    assert.deepEqual(rows.map(({ wire }) => wire).toSorted(), values.toSorted());
    assert.equal(new Set(rows.map(({ text }) => text)).size, rows.length);
    for (const { wire, text } of rows) assert.equal(textOfState<number>(states, wire), text);
    assert.equal(textOfState<number>(states, 0), undefined);
    assert.equal(textOfState<number>(states, 99), undefined);
  });
}
