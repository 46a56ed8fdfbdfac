import { parseVersionLine } from '@platform/contract/machine-server/machine-server';
import { tempFolder } from '@platform/kit/testing';
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmod, chown, copyFile, mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { plainEnvironment } from '@platform/kit/node';
import { tarGz } from './archives.ts';
import { colourImage } from './colour-images.ts';
import { fakeCloud } from './fake-cloud.ts';
import { startServer } from './server-process.ts';

const root = path.resolve(import.meta.dirname, '../../..');
const otherUid = 65_534;

/** Builds the release file if its sources have changed. */
function releaseFile(): { file: string; version: string } {
  const built = spawnSync(process.execPath, [path.join(root, 'tools/release.ts'), 'platform-server'], {
    env: plainEnvironment(),
    encoding: 'utf8',
  });
  assert.equal(built.status, 0, built.stderr);
  return JSON.parse(built.stdout) as { file: string; version: string };
}

test('the release file alone, in an empty folder, run by a user who may read nothing else', async () => {
  const { file, version } = releaseFile();
  await using folder = await tempFolder();
  await using cloud = await fakeCloud();
  const program = folder.file('platform-server');
  await copyFile(file, program);
  await chmod(program, 0o755);
  await chmod(folder.path, 0o755);
  await mkdir(folder.file('data'), { mode: 0o700 });
  const isRoot = process.getuid?.() === 0;
  if (isRoot) await chown(folder.file('data'), otherUid, otherUid);
  // Runs without HOME and, if the test is root, as a user that owns no files.
  const as = isRoot ? ['setpriv', `--reuid=${otherUid}`, `--regid=${otherUid}`, '--clear-groups'] : [];
  const command = ['env', '-i', ...as, program];

  const [first = '', ...rest] = command;
  const reported = spawnSync(first, [...rest, '--version'], { cwd: folder.path, encoding: 'utf8' });
  assert.deepEqual(parseVersionLine(reported.stdout), { version, binaryName: 'platform-server' }, reported.stderr);

  const onnx = await readFile(path.join(import.meta.dirname, 'fixtures', 'colours.onnx'));
  const archive = await tarGz([
    { name: 'colours.onnx', content: onnx },
    { name: 'labels.txt', content: 'red\ngreen\nblue\n' },
  ]);
  cloud.archives.set('org/colours/1', { bytes: archive });
  const attributes = { model_path: '${packages.c}/colours.onnx', label_path: '${packages.c}/labels.txt' };
  cloud.setConfig(1, {
    services: [{ name: 'm', type: 'mlmodel', model: 'onnx_cpu', attributes }],
    packages: [{ name: 'c', package: 'org/colours', version: '1', type: 'ml_model' }],
  });
  await using server = await startServer({ cloud, folder: folder.path, command });
  assert.equal(server.ready.version, version);
  const predict = async () => server.json('/models/m/predict', { method: 'POST', body: await colourImage('blue') });
  const { body } = await server.until('a prediction', predict, ({ status }) => status === 200);
  assert.deepEqual([body['label'], body['version']], ['blue', '1']);

  // A new file at the program's path requires a restart.
  const isNeeded = async () => (await server.json('/restart_status')).body['restart_needed'];
  assert.equal(await isNeeded(), false);
  const newer = folder.file('newer');
  await copyFile(program, newer);
  spawnSync('sh', ['-c', `printf x >> "${newer}" && mv "${newer}" "${program}"`]);
  assert.equal(await isNeeded(), true);
  assert.equal(await server.kill('SIGTERM'), 0);
});
