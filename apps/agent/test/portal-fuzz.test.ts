import { test } from 'node:test';
import { floodPortal, fuzzPortal } from './portal-fuzz.ts';

test('the portal serves after 3,000 hostile requests', async (t) => {
  t.diagnostic(await fuzzPortal(3_000, 1));
});

test('the portal serves while 200 connections say nothing on each port, and after 200 forms at once', async (t) => {
  t.diagnostic(await floodPortal(200));
});
