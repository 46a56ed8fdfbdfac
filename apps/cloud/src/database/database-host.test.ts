import assert from 'node:assert/strict';
import { test } from 'node:test';
import { databaseHost } from './database-host.ts';

for (const [url, host] of [
  ['postgres://me:secret@db.example.com:5433/platform', 'db.example.com:5433'],
  ['postgresql://me:secret@[::1]/platform', '[::1]'],
  ['postgresql://me@localhost/platform?host=%2Frun%2Fpostgresql&port=5432', '/run/postgresql'],
  ['postgres:///platform', 'localhost'],
  ['me:secret', 'the host of the database URL'],
  ['no URL of mine: secret', 'the host of the database URL'],
] as const)
  test(`the host of a database: ${host}, without the password`, () => assert.equal(databaseHost(url), host));
