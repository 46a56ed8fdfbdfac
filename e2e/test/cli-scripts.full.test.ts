// A training script from the command line: tried here, uploaded, run in the runner's real sandbox, followed, stopped.
import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { composeObjects10 } from '@platform/objects-10';
import { plainEnvironment, spawnGroup } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { startCloud } from '../src/cloud-process.ts';
import { startRunner } from '../src/runner-process.ts';
import { checkout, runCli } from '../src/up-process.ts';

const counts = `
import argparse, os
parser = argparse.ArgumentParser()
for name in ("dataset_file", "model_output_directory", "word"):
    parser.add_argument("--" + name)
args = parser.parse_args()
with open(args.dataset_file) as lines:
    count = len(lines.readlines())
print("images", count)
with open(os.path.join(args.model_output_directory, "model.txt"), "w") as model:
    model.write(f"{count} {args.word}")
`;
const fails = 'import sys\nprint("about to fail")\nsys.exit(3)\n';
const forever = 'import time\nprint("step one", flush=True)\ntime.sleep(600)\n';

async function script(folder: string, name: string, program: string): Promise<string> {
  const place = path.join(folder, name);
  await mkdir(path.join(place, 'model'), { recursive: true });
  await writeFile(path.join(place, 'setup.py'), 'from setuptools import setup\nsetup(name="model")\n');
  await writeFile(path.join(place, 'model', '__init__.py'), '');
  await writeFile(path.join(place, 'model', 'training.py'), program);
  return place;
}

test('a script from the first try to a model, and its failures', async () => {
  await using cloud = await startCloud();
  await using folder = await tempFolder();
  await using _runner = await startRunner(cloud.ready);
  const env = {
    PLATFORM_URL: cloud.ready.url,
    PLATFORM_API_KEY_ID: cloud.ready.api_key_id,
    PLATFORM_API_KEY: cloud.ready.api_key,
    XDG_CACHE_HOME: folder.file('cache'),
  };
  const cli = (...args: string[]) => runCli(env, ...args);
  const done = async (...args: string[]) => {
    const ended = await cli(...args);
    assert.equal(ended.code, 0, `${args.join(' ')}: ${ended.stderr}`);
    return ended.stdout;
  };
  const images = folder.file('images');
  await mkdir(images);
  const composed = composeObjects10({ seed: 2, side: 64, trainPerClass: 3, testPerClass: 0, objects: ['bear'] });
  for await (const { name, jpeg } of composed) await writeFile(path.join(images, name), jpeg);
  await done('dataset', 'upload', 'bears', images, '--label', 'bear', '--create');
  await done('dataset', 'export', 'bears', folder.file('export'));

  const good = await script(folder.path, 'good', counts);
  const bad = await script(folder.path, 'bad', fails);
  const local = [
    'training-script',
    'test-local',
    '--dataset-root',
    folder.file('export'),
    '--output',
    folder.file('out'),
  ];
  const tried = await done(...local, '--path', good, '--arg', 'word=here');
  assert.match(tried, /^images 3\n/);
  assert.equal(await readFile(folder.file('out', 'model.txt'), 'utf8'), '3 here');
  const failed = await cli(...local, '--path', bad);
  assert.equal(failed.code, 5);
  assert.match(failed.stderr, /SCRIPT_FAILED.*3/s);

  assert.match(await done('train', 'containers'), /^NAME +FRAMEWORK .*\npy:3\.\d+ +python /);
  const submit = ['train', 'submit-custom', '--dataset', 'bears', '--script', 'mine'];
  const whole = await done(...submit, '--upload', good, '--model-name', 'm', '--arg', 'word=there', '--wait');
  assert.match(whole, /^Uploaded mine as version \d+ .*\nSubmitted m\/.*\nCompleted m\//);
  const download = await done('model', 'download', 'm', '--unpack', '-o', folder.file('models'), '--json');
  const { folder: place } = JSON.parse(download) as { folder: string };
  assert.equal(await readFile(path.join(place, 'model.txt'), 'utf8'), '3 there');
  assert.match(await done('train', 'logs', 'm'), /INFO +images 3\n/);

  const broken = await cli(...submit, '--upload', bad, '--model-name', 'b', '--wait');
  assert.equal(broken.code, 5);
  assert.match(broken.stderr, /b\/\S+ failed \(script\)/);

  await done(...submit, '--upload', await script(folder.path, 'forever', forever), '--model-name', 'f');
  const follower = await spawnGroup({
    command: process.execPath,
    args: [
      '--disable-warning=ExperimentalWarning',
      path.join(checkout, 'apps/cli/src/main.ts'),
      'train',
      'logs',
      '-f',
      'f',
    ],
    env: plainEnvironment(env),
    cwd: checkout,
  });
  assert.ok(follower.stdout);
  for await (const line of createInterface({ input: follower.stdout })) {
    if (line.endsWith('step one')) await done('train', 'cancel', 'f');
  }
  assert.equal((await follower.exited).code, 0, 'the log of a canceled job ends');
  assert.equal((await cli('train', 'wait', 'f')).code, 6);
});
