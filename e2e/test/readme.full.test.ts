/** Runs the training section of README.md, as written, against a freshly started platform. */
import assert from 'node:assert/strict';
import { readFile, mkdir, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { plainEnvironment, spawnGroup } from '@platform/kit/node';
import { composeObjects10 } from '@platform/objects-10';
import { checkout, dataFolder, startUp } from '../src/up-process.ts';

/** The commands of all shell blocks below a heading of the second level. */
function commandsUnder(readme: string, heading: string): string[] {
  const section = readme.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? '';
  return [...section.matchAll(/^```sh\n([\s\S]*?)^```/gm)].flatMap(([, block = '']) => block.trim().split('\n'));
}

async function shell(command: string, env: Record<string, string>): Promise<{ code: number | null; output: string }> {
  const group = await spawnGroup({
    command: '/bin/sh',
    args: ['-c', command],
    env: { ...plainEnvironment(env), PATH: `${path.dirname(process.execPath)}:${process.env['PATH'] ?? ''}` },
    cwd: checkout,
  });
  const [out, err, { code }] = await Promise.all([
    group.stdout ? text(group.stdout) : '',
    group.stderr ? text(group.stderr) : '',
    group.exited,
  ]);
  return { code, output: out + err };
}

test('the training section of the README works as written', async () => {
  const readme = await readFile(path.join(checkout, 'README.md'), 'utf8');
  const commands = commandsUnder(readme, 'Training');
  assert.ok(commands.length >= 8, `${commands.length} commands were found`);
  await using data = await dataFolder();
  await using work = await dataFolder();
  for await (const { label, name, jpeg } of composeObjects10({
    seed: 5,
    side: 160,
    trainPerClass: 12,
    testPerClass: 0,
    objects: ['bear', 'corn', 'balloon'],
  })) {
    await mkdir(work.file('images', label), { recursive: true });
    await writeFile(work.file('images', label, name), jpeg);
  }
  const up = await startUp(data.path, '--empty');
  try {
    const answer = await up.answer;
    assert.ok(answer, 'the platform did not start');
    const env = {
      PLATFORM_URL: String(answer['url']),
      PLATFORM_API_KEY_ID: String(answer['api_key_id']),
      PLATFORM_API_KEY: String(answer['api_key']),
    };
    for (const command of commands) {
      const here = command.replaceAll(/ \.\/(images|models|parts|out)\b/g, ` ${work.path}/$1`);
      const { code, output } = await shell(here, env);
      assert.equal(code, 0, `${command}\n${output}`);
    }
  } finally {
    await up.group.stop({ termMs: 20_000 });
  }
  const models = await readdir(work.file('models'), { recursive: true });
  for (const file of ['parts.tflite', 'parts.onnx', 'labels.txt', 'model_card.md']) {
    assert.ok(
      models.some((name) => path.basename(name) === file),
      `${file} is not among ${models.join(', ')}`,
    );
  }
  assert.ok((await readdir(work.file('out'))).length > 0);
});
