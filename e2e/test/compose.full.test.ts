// deploy/compose.yaml by a parser that checks the schema: every profile, and values from the environment.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { checkout } from '../src/up-process.ts';

const file = path.join(checkout, 'deploy', 'compose.yaml');

async function parsed(profiles: readonly string[], env: Record<string, string> = {}): Promise<string> {
  const args = ['-f', file, ...profiles.flatMap((one) => ['--profile', one])];
  const options = { env: { PATH: process.env['PATH'], HOME: '/nonexistent', ...env } };
  return (await promisify(execFile)('docker-compose', [...args, 'config'], options)).stdout;
}

for (const profiles of [[], ['proxy'], ['database'], ['proxy', 'database']])
  test(`compose file with ${profiles.join(' and ') || 'no profile'}`, async () => {
    const found = await parsed(profiles, { POSTGRES_PASSWORD: 'a', PLATFORM_LISTEN: '127.0.0.1:8080' });
    for (const service of ['server', 'proxy', 'database'])
      assert.equal(new RegExp(`^  ${service}:$`, 'm').test(found), service === 'server' || profiles.includes(service));
    assert.match(found, /127\.0\.0\.1:8080:8080/);
  });
