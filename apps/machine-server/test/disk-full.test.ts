import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { parseReadyLine } from '@platform/contract/machine-server/machine-server';
import { tempFolder } from '@platform/kit/testing';

const main = path.join(import.meta.dirname, '..', 'src', 'main.ts');
/** The server runs as root, like a system unit. Other users cannot create its lock in memory. */
const canMount =
  process.getuid?.() === 0 && spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0;
/** Data folder and stdout, or a copy of it, are on a disk that has space for neither a byte nor a file. */
const onFullDisk = (output: string): string => `
  mount -t tmpfs -o size=64k,nr_inodes=4,mode=755 tmpfs "$1" && mkdir "$1/data" && touch "$1/out" || exit 1
  head -c 100000 /dev/zero > "$1/filler" 2>&-
  exec "$2" "$3" -config "$4" -data "$1/data" ${output}`;

for (const [what, output] of [
  ['a full disk', ''],
  ['a full disk that its lines go to', '>> "$1/out"'],
] as const)
  test(`it starts on ${what}, answers, and ends on SIGTERM`, { skip: !canMount }, async () => {
    await using folder = await tempFolder();
    const [disk, config] = [folder.file('disk'), folder.file('platform.json')];
    mkdirSync(disk);
    const app = createServer((_, answer) => answer.writeHead(503).end()).listen(0, '127.0.0.1');
    const asked = once(app, 'request');
    await once(app, 'listening');
    const address = `http://127.0.0.1:${(app.address() as AddressInfo).port}`;
    writeFileSync(config, JSON.stringify({ cloud: { app_address: address, id: 'p', secret: 's' } }));
    const child = spawn('unshare', ['-m', 'sh', '-c', onFullDisk(output), 'sh', disk, process.execPath, main, config], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const exit = once(child, 'exit');
    const errors: string[] = [];
    child.stderr.on('data', (chunk: Buffer) => errors.push(chunk.toString()));
    try {
      let url: string | undefined;
      for await (const line of createInterface({ input: child.stdout })) {
        url = parseReadyLine(line)?.url;
        if (url !== undefined) break;
      }
      if (output === '') assert.equal((await fetch(new URL('/restart_status', url))).status, 200, errors.join(''));
      // The readiness line may be lost; the request for the configuration proves that the server runs.
      await Promise.race([asked, exit]);
      assert.equal(child.exitCode, null, errors.join(''));
      child.kill('SIGTERM');
      assert.deepEqual(await exit, [0, null], errors.join(''));
    } finally {
      child.kill('SIGKILL');
      app.close();
    }
  });
