import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServerStateSchema, SliceStateSchema, UpdateStateSchema } from '../src/gen/platform/fleet/v1/fleet_pb.ts';
import { serverStates, sliceStates, textOfState, updateStates } from '../src/program-states.ts';

const tables = [
  ['machine server', serverStates, ServerStateSchema],
  ['update', updateStates, UpdateStateSchema],
  ['slice', sliceStates, SliceStateSchema],
] as const;
for (const [name, states, schema] of tables) {
  test(`states of a ${name}: one row for each value on the wire, each with its own text`, () => {
    const rows = Object.values(states);
    const values = schema.values.map(({ number }) => number).filter((number) => number !== 0);
    assert.deepEqual(rows.map(({ wire }) => wire as number).toSorted(), values.toSorted());
    assert.equal(new Set(rows.map(({ text }) => text)).size, rows.length);
    for (const { wire, text } of rows) assert.equal(textOfState<number>(states, wire), text);
    assert.equal(textOfState<number>(states, 0), undefined);
    assert.equal(textOfState<number>(states, 99), undefined);
  });
}
