import assert from 'node:assert/strict';
import test from 'node:test';
import { urlProblems } from './set-up-problems.ts';

for (const [url, problem] of [
  ['http://localhost:8080', /leads each device to itself/],
  ['https://127.0.0.1:8443', /leads each device to itself/],
  ['http://[::1]:8080', /leads each device to itself/],
  ['http://10.0.0.2:8080', /has no TLS/],
  ['https://fleet.example', undefined],
  ['https://localhost.example', undefined],
] as const)
  test(`problems of ${url}`, () => {
    if (problem) assert.match(urlProblems(url).join(), problem);
    else assert.deepEqual(urlProblems(url), []);
  });
