import assert from 'node:assert/strict';
import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import test from 'node:test';
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
