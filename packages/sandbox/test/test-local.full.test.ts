/** The example of the guide on the author's own computer, in a real sandbox, and what is checked before. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { PlatformError } from '@platform/contract/errors/errors';
import { systemClock } from '@platform/kit/node';
import { tempFolder, type TempFolder } from '@platform/kit/testing';
import { LocalFailure, runTestLocal, type LocalResult, type LocalTest } from '../src/test-local.ts';

const example = path.resolve(import.meta.dirname, '../../../docs/examples/onnx-training-script');
const python = (): string => {
  const found = process.env['PLATFORM_TEST_PYTHON'];
  assert.ok(found, 'PLATFORM_TEST_PYTHON names a Python with numpy, pillow and onnx');
  return found;
};

/** Images of two colours, as an export leaves them: paths of all three forms. */
async function dataset(folder: TempFolder): Promise<string> {
  const root = folder.file('data set');
  await mkdir(path.join(root, 'data'), { recursive: true });
  const program = `
import json, sys
from PIL import Image
root = sys.argv[1]
with open(root + "/dataset.jsonl", "w") as lines:
    for i in range(24):
        name = f"data/{i}.png"
        Image.new("RGB", (40, 30), (200 + i, 20, 20) if i % 2 else (20, 20, 200 + i)).save(f"{root}/{name}")
        shown = f"{root}/{name}" if i % 3 else name
        label = [{"annotation_label": "red" if i % 2 else "blue"}]
        lines.write(json.dumps({"image_path": shown, "classification_annotations": label, "bounding_box_annotations": []}) + "\\n")`;
  execFileSync(python(), ['-c', program, root]);
  return root;
}
interface Try {
  result: Promise<LocalResult>;
  lines: string[];
}
function tried(folder: TempFolder, root: string, change: Partial<LocalTest> = {}): Try {
  const lines: string[] = [];
  const result = runTestLocal({
    folder: example,
    datasetRoot: root,
    args: {},
    out: folder.file('out'),
    pythons: `np:2=${python()}`,
    cache: folder.file('cache'),
    env: process.env,
    clock: systemClock,
    signal: new AbortController().signal,
    onLine: (stream, line) => lines.push(`${stream} ${line}`),
    ...change,
  });
  return { result, lines };
}

test('the example trains, its result lies in the folder asked for, its source stays as it was', async () => {
  await using folder = await tempFolder();
  const root = await dataset(folder);
  const { result, lines } = tried(folder, root, { args: { epochs: '5' }, container: 'tf:2.16' });
  assert.deepEqual(await result, { files: ['labels.txt', 'model.onnx'], container: 'np:2', stopped: false });
  assert.equal(await readFile(folder.file('out', 'labels.txt'), 'utf8'), 'blue\nred');
  assert.ok(lines.includes('out 24 images of blue, red'), lines.join('\n'));
  assert.ok(lines.some((line) => line.startsWith('about This host has no container tf:2.16 (it has np:2)')));
  assert.ok(lines.some((line) => line.startsWith('about Sandbox: bubblewrap')));
  assert.equal(lines.filter((line) => line.includes('"epoch"')).length, 5);
  assert.deepEqual((await readdir(example)).toSorted(), ['model', 'setup.py']);
});

test('the example that needs nothing but Python', async () => {
  await using folder = await tempFolder();
  const root = await dataset(folder);
  const { result, lines } = tried(folder, root, {
    folder: path.join(example, '../training-script'),
    pythons: '/usr/bin/python3',
  });
  assert.deepEqual((await result).files, ['labels.txt', 'model.json']);
  assert.ok(lines.includes('out {"progress": 1.0}'), lines.join('\n'));
});

test('a script that fails: its own words, the code and what to do', async () => {
  await using folder = await tempFolder();
  const root = await dataset(folder);
  const { result } = tried(folder, root, { args: { epochs: 'many' } });
  await assert.rejects(result, (error) => {
    assert.ok(error instanceof LocalFailure);
    assert.equal(error.code, 'SCRIPT_FAILED');
    assert.match(error.message, /exit code 2[\s\S]*invalid int value: 'many'/);
    return true;
  });
});

test('stopped by the user: the script gets a signal, and nothing is kept', async () => {
  await using folder = await tempFolder();
  const root = await dataset(folder);
  const stop = new AbortController();
  const { result } = tried(folder, root, {
    args: { epochs: '1000000' },
    signal: stop.signal,
    onLine: (_, line) => {
      if (line.includes('"epoch"')) stop.abort();
    },
  });
  assert.deepEqual(await result, { files: [], container: 'np:2', stopped: true });
  assert.deepEqual(await readdir(folder.file('out')), []);
});

test('invalid arguments are refused before anything runs', async () => {
  await using folder = await tempFolder();
  const root = await dataset(folder);
  await mkdir(folder.file('empty'));
  await writeFile(folder.file('empty', 'dataset.jsonl'), '');
  await mkdir(folder.file('no-module'));
  await writeFile(folder.file('no-module', 'setup.py'), '');
  await cp(root, folder.file('broken'), { recursive: true });
  await writeFile(folder.file('broken', 'dataset.jsonl'), '{"image_path": 3}\n');
  const rows: [Partial<LocalTest>, string, RegExp][] = [
    [{ datasetRoot: folder.file('nowhere') }, 'INVALID_ARGUMENT', /dataset-root.*there is no folder/],
    [{ datasetFile: 'other.jsonl' }, 'INVALID_ARGUMENT', /dataset-file.*there is no file/],
    [{ datasetFile: '/etc/passwd' }, 'INVALID_ARGUMENT', /must be relative to the dataset root/],
    [{ datasetFile: 'data/../../x' }, 'INVALID_ARGUMENT', /must be relative to the dataset root/],
    [{ datasetRoot: folder.file('empty') }, 'INVALID_ARGUMENT', /it has no line/],
    [{ datasetRoot: folder.file('broken') }, 'INVALID_ARGUMENT', /line 1 of the dataset file.*image_path/],
    [{ args: { 'a b': '1' } }, 'INVALID_ARGUMENT', /"a b" may have letters/],
    [{ folder: folder.file('no-module') }, 'SCRIPT_ARCHIVE_INVALID', /no model\/training\.py/],
    [{ pythons: 'x:1=/no/such/python' }, 'SANDBOX_UNAVAILABLE', /\/no\/such\/python cannot be started/],
  ];
  for (const [change, code, message] of rows) {
    await assert.rejects(tried(folder, root, change).result, (error) => {
      assert.ok(error instanceof PlatformError, String(error));
      assert.equal(error.code, code);
      assert.match(error.message, message);
      return true;
    });
  }
});
