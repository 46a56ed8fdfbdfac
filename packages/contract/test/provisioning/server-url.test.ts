import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseServerUrl } from '../../src/provisioning/server-url.ts';

const usable: [text: string, url: string][] = [
  ['http://127.0.0.1:8080', 'http://127.0.0.1:8080'],
  ['https://fleet.example/', 'https://fleet.example'],
  [' HTTPS://Fleet.Example:8443 \r\n', 'https://fleet.example:8443'],
  ['http://[::1]:8080', 'http://[::1]:8080'],
];
for (const [text, url] of usable)
  test(`server ${JSON.stringify(text)}`, () => assert.deepEqual(parseServerUrl(text), { ok: true, value: url }));

const refused: [text: string, problem: RegExp][] = [
  ['', /^it is empty$/],
  ['127.0.0.1:8080', /^it must begin with https:\/\/ or http:\/\/, for example https:\/\/127\.0\.0\.1:8080$/],
  ['fleet.example', /, for example https:\/\/fleet\.example$/],
  ['localhost:8080/machines', /^it must begin with https:\/\/ or http:\/\/$/],
  ['ftp://fleet.example', /^it must begin with https:\/\/ or http:\/\/$/],
  ['http://', /^it is not a valid URL$/],
  ['http://fleet.example/machines', /^it must not have a path, a query or a fragment: give http:\/\/fleet\.example$/],
  ['http://fleet.example//', /: give http:\/\/fleet\.example$/],
  ['http://fleet.example/?', /: give http:\/\/fleet\.example$/],
  ['http://fleet.example#a', /: give http:\/\/fleet\.example$/],
  ['https://me:hunter2@fleet.example', /^it must not contain a user name or a password$/],
];
for (const [text, problem] of refused)
  test(`no server ${JSON.stringify(text)}`, () => {
    const read = parseServerUrl(text);
    assert.ok(!read.ok);
    assert.match(read.problem, problem);
    assert.doesNotMatch(read.shown, /hunter2/);
  });
