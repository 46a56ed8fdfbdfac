// What stands in a user's shell changes no program, test or benchmark: a child gets `plainEnvironment` (kit/node) or an
// environment of its own. tools/house/environment.json lists the places that still hand on everything. It only shrinks.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inheritingIn, inheritingPlaces } from './house/environment.ts';
import { excess, readLimits } from './house/limits.ts';
import { code } from './house/tree.ts';

test('no more places hand on the environment of their process than tools/house/environment.json allows', () => {
  assert.deepEqual(excess(readLimits('environment'), inheritingPlaces(code)), []);
});

const rows: [text: string, count: number][] = [
  ['const env = { ...process.env, A: "1" };', 1],
  ['start({ env: process.env });', 1],
  ['spawn(process.execPath, [file]);', 1],
  ['spawnSync(process.execPath, [file], { stdio: "inherit" });', 1],
  ['fork(file, []);', 1],
  ['spawn(process.execPath, [file], { env: plainEnvironment() });', 0],
  ['spawn(process.execPath, [file], { ...rest });', 0],
  ['spawn(process.execPath, [file], options);', 0],
  ['spawnSync("git", ["status"]);', 0],
  ['read(argv, process.env); const path = process.env["PATH"];', 0],
];
for (const [text, count] of rows) test(`${text} is ${count}`, () => assert.equal(inheritingIn(text), count));
