// The package of Windows, made here and signed by an authority of the test: installed, upgraded and removed by Wine's
// msiexec.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { tempFolder, type TempFolder } from '@platform/kit/testing';
import { build, type Build } from '../lab/builds.ts';
import { eventually } from '../lab/machine.ts';
import { keep, timed } from '../lab/results.ts';
import { wineMachine, type WineMachine } from '../lab/wine.ts';
import { checkout } from '../src/up-process.ts';

const run = (command: string, ...args: string[]) => spawnSync(command, args, { encoding: 'utf8' });
const tool = (name: string, ...args: string[]) => run(process.execPath, path.join(checkout, 'tools', name), ...args);
const sha256 = async (file: string): Promise<string> =>
  createHash('sha256')
    .update(await readFile(file))
    .digest('hex');

function must(command: string, ...args: string[]): void {
  const done = run(command, ...args);
  assert.equal(done.status, 0, `${command} ${args.join(' ')}\n${done.stderr}`);
}

/** An authority, and a certificate of it for signing programs. */
async function signer(folder: TempFolder) {
  const at = (name: string): string => folder.file(name);
  const fresh = ['-newkey', 'rsa:2048', '-nodes'];
  must('openssl', 'req', '-x509', ...fresh, '-keyout', at('ca.key'), '-out', at('ca.pem'), '-subj', '/CN=lab');
  must('openssl', 'req', ...fresh, '-keyout', at('key.pem'), '-out', at('request.pem'), '-subj', '/CN=The authors');
  await writeFile(at('use'), 'extendedKeyUsage=codeSigning\nkeyUsage=digitalSignature\n');
  const authority = ['-CA', at('ca.pem'), '-CAkey', at('ca.key'), '-CAcreateserial', '-extfile', at('use')];
  must('openssl', 'x509', '-req', '-in', at('request.pem'), ...authority, '-out', at('certificate.pem'));
  const sign = ['--certificates', at('certificate.pem'), '--key', at('key.pem')];
  return { sign, verify: ['--verify', at('ca.pem')], other: ['--verify', at('certificate.pem')] };
}

/** A copy of a build with its facts beside it. */
async function copyOf({ file }: Build, folder: TempFolder): Promise<string> {
  const to = folder.file(path.basename(file));
  for (const suffix of ['', '.json', '.sha256']) await copyFile(file + suffix, to + suffix);
  return to;
}

function msiOf(file: string, folder: TempFolder): string {
  const done = tool('msi.ts', file, '--out', folder.path);
  assert.equal(done.status, 0, done.stderr);
  return (JSON.parse(done.stdout) as { file: string }).file;
}

const stateOf = async (machine: WineMachine): Promise<string> =>
  /STATE\s*: \d+\s+(\w+)/.exec((await machine.exec(['sc', 'query', 'platform-agent'])).stdout)?.[1] ?? '';
const msiexec = (machine: WineMachine, how: '/i' | '/x', name: string) =>
  machine.must(['msiexec', how, `C:\\temp\\${name}`, '/qn'], { seconds: 300 });
const installedProgram = 'Program Files/Platform agent/platform-agent.exe';

test('signed program and package: right by their authority, refused by another, and the facts follow', async () => {
  await using folder = await tempFolder();
  const { sign, verify, other } = await signer(folder);
  const unsigned = await build('platform-agent', '0.1.0', { platform: 'windows/amd64' });
  const file = await copyOf(unsigned, folder);
  assert.match(tool('sign-windows.ts', file, ...verify).stderr, /no signature/i);
  assert.equal(tool('sign-windows.ts', file, ...sign).status, 0);
  const facts = JSON.parse(await readFile(`${file}.json`, 'utf8')) as { sha256: string };
  assert.equal(facts.sha256, await sha256(file));
  assert.notEqual(facts.sha256, unsigned.sha256);
  assert.match(tool('sign-windows.ts', file, ...sign).stderr, /is signed already/);
  const msi = msiOf(file, folder);
  assert.equal(tool('sign-windows.ts', msi, ...sign).status, 0);
  for (const signed of [file, msi]) {
    assert.equal(tool('sign-windows.ts', signed, ...verify).status, 0);
    assert.match(tool('sign-windows.ts', signed, ...other).stderr, /verif/i);
  }
  // Unpacked, the package holds exactly the signed program.
  must('msiextract', '-C', folder.file('out'), msi);
  const found = run('find', folder.file('out'), '-name', 'platform-agent.exe').stdout.trim();
  assert.equal(await sha256(found), facts.sha256);
  const bytes = await readFile(file);
  bytes[1_000_000] = (bytes[1_000_000] ?? 0) ^ 1;
  await writeFile(file, bytes);
  assert.notEqual(tool('sign-windows.ts', file, ...verify).status, 0, 'a changed program passed');
});

test('the package is installed, upgraded and removed by msiexec', { timeout: 1_800_000 }, async (t) => {
  await using folder = await tempFolder();
  await using again = await tempFolder();
  const builds = await Promise.all(
    ['0.1.0', '0.2.0'].map((version) => build('platform-agent', version, { platform: 'windows/amd64' })),
  );
  const [first = '', second = ''] = builds.map(({ file }) => msiOf(file, folder));
  assert.equal(await sha256(first), await sha256(msiOf(builds[0]?.file ?? '', again)), 'other bytes of the same agent');
  await using machine = await wineMachine();
  await machine.push(first, 'temp/first.msi');
  await machine.push(second, 'temp/second.msi');

  await t.test('install: the service runs, and waits for credentials', async () => {
    const { seconds } = await timed(() => msiexec(machine, '/i', 'first.msi'));
    assert.equal(await stateOf(machine), 'RUNNING');
    assert.equal(await sha256(machine.at(installedProgram)), builds[0]?.sha256);
    await keep('Windows: install by the package', 'Wine', seconds);
  });

  // Wine does not tell the removal of the older package that it is an upgrade, so the agent is removed with it. That the
  // running agent stays, only Windows can show.
  await t.test('upgrade: the package has the newer program', async () => {
    await msiexec(machine, '/i', 'second.msi');
    assert.equal(await sha256(machine.at(installedProgram)), builds[1]?.sha256);
  });

  await t.test('an older package is refused', async () => {
    const older = await machine.exec(['msiexec', '/i', String.raw`C:\temp\first.msi`, '/qn'], { seconds: 300 });
    assert.notEqual(older.code, 0);
    assert.equal(await sha256(machine.at(installedProgram)), builds[1]?.sha256);
  });

  await t.test('remove: no service and no file but the credentials', async () => {
    await writeFile(folder.file('platform.json'), '{}');
    await machine.push(folder.file('platform.json'), 'ProgramData/Platform/platform.json');
    await msiexec(machine, '/x', 'second.msi');
    await eventually('the agent has ended', 60, async () =>
      (await machine.pids('platform-agent')).length === 0 ? true : undefined,
    );
    assert.equal(await stateOf(machine), '');
    assert.deepEqual(await machine.files('Program Files/Platform agent'), []);
    assert.deepEqual(await machine.files('ProgramData/Platform'), ['platform.json']);
  });
});
