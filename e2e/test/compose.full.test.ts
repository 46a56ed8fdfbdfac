// deploy/compose.yaml by a parser that checks the schema, with values from the environment.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { tempFolder } from '@platform/kit/testing';
import { checkout } from '../src/up-process.ts';

const file = path.join(checkout, 'deploy', 'compose.yaml');

async function parsed(from: string): Promise<string> {
  const env = { PATH: process.env['PATH'], HOME: '/nonexistent', PLATFORM_LISTEN: '127.0.0.1:8080' };
  return (await promisify(execFile)('docker-compose', ['-f', from, 'config'], { env })).stdout;
}

test('the compose file is valid: one service by default, two on request', async () => {
  const services = (await parsed(file)).split(/^services:$/m)[1]?.split(/^\w/m)[0] ?? '';
  const profiles = services
    .split(/^  (?=\w)/m)
    .slice(1)
    .map((service) => [service.split(':')[0], /profiles:\n\s+- (\w+)/.exec(service)?.[1]]);
  assert.deepEqual(Object.fromEntries(profiles), { database: 'database', proxy: 'proxy', server: undefined });
  assert.match(services, /127\.0\.0\.1:8080:8080/);
});

test('the parser refuses a compose file with a misspelled key', async () => {
  await using folder = await tempFolder();
  await writeFile(folder.file('compose.yaml'), (await readFile(file, 'utf8')).replace('healthcheck:', 'healthchek:'));
  await assert.rejects(parsed(folder.file('compose.yaml')), /healthchek/);
});
