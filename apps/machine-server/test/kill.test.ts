import { seededRandom, tempFolder } from '@platform/kit/testing';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { tarGz } from './archives.ts';
import { colourImage } from './colour-images.ts';
import { fakeCloud } from './fake-cloud.ts';
import { serverCommand, startServer } from './server-process.ts';

/** Starts the server and kills it as soon as it has printed `lines` lines. */
async function killAfter(lines: number, of: Parameters<typeof serverCommand>[0]): Promise<void> {
  const [program = '', ...args] = await serverCommand(of);
  const child = spawn(program, args, { cwd: of.folder, stdio: ['ignore', 'pipe', 'ignore'] });
  let seen = 0;
  createInterface(child.stdout).on('line', () => {
    seen += 1;
    if (seen === lines) child.kill('SIGKILL');
  });
  const [, signal] = (await once(child, 'exit')) as [number | null, string | null];
  assert.equal(signal, 'SIGKILL');
}

test('killed at any line of its log, it goes on: the model answers, no image is lost', async () => {
  await using folder = await tempFolder();
  await using cloud = await fakeCloud();
  const onnx = await readFile(path.join(import.meta.dirname, 'fixtures', 'colours.onnx'));
  const images = folder.file('images');
  await mkdir(images);
  await writeFile(path.join(images, 'a.jpg'), await colourImage('green'));
  const attributes = { model_path: '${packages.c}/colours.onnx', label_path: '${packages.c}/labels.txt' };
  const wanted = (version: number, services: { name: string; type: string; attributes: object }[]) => ({
    components: [{ name: 'cam', type: 'camera', model: 'folder', attributes: { path: images } }],
    services: [{ name: 'm', type: 'mlmodel', model: 'onnx_cpu', attributes }, ...services] as never[],
    packages: [{ name: 'c', package: 'org/colours', version: String(version), type: 'ml_model' }],
  });
  const keep = { name: 'keep', type: 'data_manager', attributes: { camera: 'cam', every_seconds: 0.1 } };
  const spool = folder.file('data', 'captures', 'keep');
  const captured = new Set<string>();
  const random = seededRandom(7);
  for (let round = 1; round <= 8; round++) {
    // Each round has a newer model to download, a few kilobytes at a time.
    const labels = ['red', 'green', 'blue'].map((label) => `${label} ${round}`).join('\n');
    const bytes = await tarGz([
      { name: 'colours.onnx', content: onnx },
      { name: 'labels.txt', content: labels },
    ]);
    cloud.archives.set(`org/colours/${round}`, { bytes });
    cloud.setConfig(round, wanted(round, [keep]));
    await killAfter(2 + Math.floor(random() * 14), { cloud, folder: folder.path });
    const records = (await readdir(spool).catch(() => [])).filter((name) => name.endsWith('.json'));
    for (const name of records) captured.add(name.slice(0, -'.json'.length));
  }
  cloud.setConfig(9, wanted(8, []));
  await using server = await startServer({ cloud, folder: folder.path });
  const predict = async () => server.json('/models/m/predict', { method: 'POST', body: await colourImage('blue') });
  const answer = await server.until('the newest model', predict, ({ body }) => body['version'] === '8');
  assert.equal(answer.body['label'], 'blue 8');
  await server.until(
    'an empty spool',
    () => readdir(spool).catch(() => []),
    (names) => names.length === 0,
  );
  const arrived = new Set(cloud.uploads.map(({ metadata }) => metadata?.fileName));
  assert.ok(arrived.size > 0);
  assert.deepEqual(
    [...captured].filter((name) => !arrived.has(name)),
    [],
  );
  assert.equal(await server.kill('SIGTERM'), 0);
});
