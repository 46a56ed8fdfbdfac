import assert from 'node:assert/strict';
import { test } from 'node:test';
import { actorName } from './actors.ts';

const rows: [actor: string, name: string][] = [
  ['user Ada (0f0f0f0f-0f0f)', 'Ada'],
  ['api_key first key (77e3d407)', 'first key (key)'],
  ['api_key a (b) c (77e3d407)', 'a (b) c (key)'],
  ['part press (1)', 'press (machine)'],
  ['installation', 'installation'],
  ['', ''],
];
for (const [actor, name] of rows) test(`"${actor}" is shown as "${name}"`, () => assert.equal(actorName(actor), name));
