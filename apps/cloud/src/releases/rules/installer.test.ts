import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import test from 'node:test';
import { PlatformError } from '@platform/contract/errors/errors';
import { renderInstaller } from './installer.ts';

const template = readFileSync(path.resolve(import.meta.dirname, '../../../install/install.sh'), 'utf8');
const pem = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ type: 'spki', format: 'pem' });
const values = {
  url: 'https://machines.example:8443',
  releaseKey: String(pem),
  trustedRoot: { version: 3, sha256: 'a'.repeat(64) },
  channels: { stable: '1.2.3', dev: '1.3.0-dev.4+b5' },
  agents: [{ version: '1.2.3', platform: 'linux-amd64', sha256: 'b'.repeat(64) }],
  authority: '',
  action: 'install',
} as const;

/** Runs as an ordinary user, with no program in PATH. */
const shell = (script: string, ...args: string[]) =>
  spawnSync('/bin/sh', ['-s', '--', ...args], { input: script, encoding: 'utf8', env: { PATH: '/nowhere' } });

test('install.sh: the values of the server are in it, and the shell understands it', () => {
  const script = renderInstaller(template, values);
  assert.match(script, /^server_url='https:\/\/machines\.example:8443'$/m);
  assert.ok(script.includes(`release_key='${values.releaseKey.trim()}'\n`));
  assert.match(script, /^trusted_root_document='3 a{64}'$/m);
  assert.ok(script.includes("channels='stable 1.2.3\ndev 1.3.0-dev.4+b5'\n"));
  assert.ok(script.includes(`agents='1.2.3 linux-amd64 ${'b'.repeat(64)}'\n`));
  // Over plain http an attacker could have inserted them.
  assert.match(renderInstaller(template, { ...values, url: 'http://machines.example' }), /^agents=''$/m);
  assert.doesNotMatch(script, /@PLATFORM_/);
  const { status, stderr } = spawnSync('/bin/sh', ['-n'], { input: script, encoding: 'utf8' });
  assert.deepEqual({ status, stderr }, { status: 0, stderr: '' });
});

test('install.sh: an address or a version that would become a part of the script is refused', () => {
  const nasty = [
    "https://a'b",
    "https://a';reboot;'",
    'https://a b',
    'https://a\nb',
    'https://$(id)',
    'file:///etc',
    '',
  ];
  for (const url of nasty)
    assert.throws(() => renderInstaller(template, { ...values, url }), PlatformError, JSON.stringify(url));
  assert.throws(() => renderInstaller(template, { ...values, channels: { stable: "1'" } }), PlatformError);
  assert.throws(() => renderInstaller(template, { ...values, releaseKey: "-----'" }), PlatformError);
});

test('install.sh: of a download that was cut anywhere, nothing runs', () => {
  const script = renderInstaller(template, values);
  const end = script.lastIndexOf('main "$@"');
  // At each line's end, and at each of the last 40 bytes.
  const cuts = [...script.matchAll(/\n/g)].map(({ index }) => index).filter((at) => at < end);
  for (let at = end - 40; at < end; at++) cuts.push(at);
  for (const at of cuts) {
    const { stdout, stderr } = shell(script.slice(0, at));
    assert.equal(stdout, '', `cut at ${at}`);
    assert.doesNotMatch(stderr, /not found|install\.sh:/, `cut at ${at}`);
  }
});

test('install.sh: a disk that fills during the download is named, with what is free and what is needed', () => {
  const script = renderInstaller(template, values);
  const on = (freeKib: number) => {
    const disk = `df() { echo head; echo "/dev/sda1 1000 990 ${freeKib} 99% /data"; }`;
    const call = 'must_fetch https://app.test/agent /nowhere/work/platform-agent';
    const input = script.replace(/main "\$@"\s*$/, `fetch() { return 23; }; ${disk}; ${call}\n`);
    return spawnSync('/bin/sh', ['-s'], { input, encoding: 'utf8' });
  };
  const full = on(10_240);
  assert.equal(full.status, 2);
  assert.match(
    full.stderr,
    /the disk of \/data is full: \/nowhere\/work has 10 MiB free, and 450 are needed\. Make room/,
  );
  const free = on(900_000);
  assert.equal(free.status, 2);
  assert.match(free.stderr, /could not be written, although the disk of \/data has 878 MiB free/);
});

test('install.sh: bad arguments end with 1, say what is wrong, and touch nothing', () => {
  const script = renderInstaller(template, values);
  const table: [args: string[], expected: RegExp][] = [
    [['--nonsense'], /"--nonsense" is not an option. See --help/],
    [['--version'], /--version needs a value/],
    [['--version', '1; reboot'], /is not a version: write stable, dev, or one as 1\.2\.3/],
    [['--root', '/'], /--root \/: give the full path of a folder that is not \//],
    [['--root', 'opt'], /--root opt: give the full path/],
    [['--config', 'platform.json'], /give the full path of the file/],
    [['--server', 'machines.example'], /is not a URL of a management server/],
    [['--sha256', 'abc'], /64 digits/],
  ];
  for (const [args, expected] of table) {
    const { status, stderr, stdout } = shell(script, ...args);
    assert.deepEqual({ status, stdout }, { status: 1, stdout: '' }, args.join(' '));
    assert.match(stderr, expected);
  }
});
