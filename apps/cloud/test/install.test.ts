import assert from 'node:assert/strict';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import test from 'node:test';
import { systemClock } from '@platform/kit/node';
import { testServer } from './server.ts';

const get = (url: string, host: string) =>
  new Promise<{ status: number; body: string }>((resolve, reject) => {
    request(url, { headers: { host } }, (answer) => {
      text(answer).then((body) => resolve({ status: answer.statusCode ?? 0, body }), reject);
    })
      .on('error', reject)
      .end();
  });

test('/install.sh and /uninstall.sh: public, with the URL by which they were requested', async () => {
  await using on = await testServer();
  const install = await get(`${on.url}/install.sh`, 'machines.example:9000');
  assert.equal(install.status, 200);
  assert.match(install.body, /^#!\/bin\/sh\n/);
  assert.match(install.body, /^server_url='http:\/\/machines\.example:9000'$/m);
  assert.match(install.body, /^default_action='install'$/m);
  // No release is published: the script reports this when it runs.
  assert.match(install.body, /^release_key=''$/m);
  assert.match((await get(`${on.url}/uninstall.sh`, 'machines.example')).body, /^default_action='uninstall'$/m);
  // The client controls the Host header, and root runs the script that contains it.
  for (const host of ["a'b", "a';id;'", 'a$(id)', 'a`id`']) {
    const { status, body } = await get(`${on.url}/install.sh`, host);
    if (status === 200) assert.ok(body.includes(`server_url='${on.url}'\n`), host);
    else assert.ok(status >= 400 && !body.includes('#!/bin/sh'), host);
  }
});

test('/install.sh is read from the database once per change, whatever host is named', async () => {
  await using on = await testServer();
  const channelsAt = async (host: string): Promise<string> =>
    /^channels='([^']*)'$/m.exec((await get(`${on.url}/install.sh`, host)).body)?.[1] ?? 'none';
  assert.equal(await channelsAt('machines.example'), '');
  const sha256 = Buffer.alloc(32, 1);
  await on.db
    .insertInto('release')
    .values({ name: 'platform-agent', version: '1.2.3', platform: 'linux/amd64', sha256, sizeBytes: 1, target: null })
    .execute();
  await on.db
    .insertInto('releaseChannel')
    .values({ name: 'platform-agent', channel: 'stable', version: '1.2.3' })
    .execute();
  // Nothing notified the server of these rows.
  assert.equal(await channelsAt('machines.example'), '');
  assert.equal(await channelsAt('other.example'), '');
  await on.db.insertInto('change').values({ kind: 'release', key: 'platform-agent' }).execute();
  while ((await channelsAt('machines.example')) === '') await systemClock.sleep(10);
  assert.equal(await channelsAt('other.example'), 'stable 1.2.3');
});
