import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { MachineSchema } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { sortKeys } from '@platform/contract/machine/sort';
import { machineColumns, reportedText, shownColumns, toggledColumn } from './machine-columns.ts';

const keys = (text: string) => shownColumns(text).map(({ key }) => key);

test('columns are those of the URL, the name always, and the usual ones for a text that names none', () => {
  const usual = keys('');
  assert.ok(usual.includes('name') && usual.includes('seen') && !usual.includes('kernel'));
  assert.deepEqual(keys('seen,state'), ['name', 'state', 'seen']);
  for (const text of ['name', 'color', ',']) assert.deepEqual(keys(text), usual, text);
});

test('a column is added in its place and removed; the usual ones need no text', () => {
  const less = toggledColumn('', 'server');
  assert.ok(!keys(less).includes('server'));
  assert.equal(toggledColumn(less, 'server'), '');
  assert.deepEqual(keys(toggledColumn('name,seen', 'state')), ['name', 'state', 'seen']);
});

test('each column sorts, and each order has a column', () => {
  assert.deepEqual(machineColumns.map(({ key }) => key).toSorted(), [...sortKeys].toSorted());
});

test('what a machine reports', () => {
  const machine = create(MachineSchema, {
    tags: ['barn', 'north'],
    report: { facts: { disk: { freeBytes: 2_000_000_000n }, temperatureCelsius: 41.26 } },
  });
  assert.equal(reportedText(machine, 'tag'), 'barn north');
  assert.equal(reportedText(machine, 'disk_free'), '2.0 GB');
  assert.equal(reportedText(machine, 'temperature'), '41.3 °C');
  assert.equal(reportedText(machine, 'memory'), '');
});
