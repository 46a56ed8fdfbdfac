// Hostile clients of the captive portal: the built program, without root, on loopback. Prints answers and memory.
import { test } from 'node:test';
import { attackRounds } from '../../../e2e/src/attack-rounds.ts';
import { floodPortal, fuzzPortal } from './portal-fuzz.ts';

const requests = attackRounds(100_000, 10_000);

test(`the portal serves after ${requests} hostile requests`, async (t) => {
  t.diagnostic(await fuzzPortal(requests, Math.floor(Math.random() * 2 ** 31)));
});

test('the portal serves while 2,000 connections say nothing', async (t) => {
  t.diagnostic(await floodPortal(1_000));
});
