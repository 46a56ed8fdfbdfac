// What the reference scripts for Keras and PyTorch share needs only Python: its scores are those of this trainer, and a
// kill leaves a checkpoint that can be read. The scripts themselves are compiled here.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { withIntervals } from '@platform/contract/job/confidence';
import { tempFolder } from '@platform/kit/testing';
import { classReports, confusionOf, scoreOf } from '../src/score.ts';

const examples = path.resolve(import.meta.dirname, '../../../docs/examples');
const folders = ['keras', 'pytorch'].map((name) => path.join(examples, `${name}-training-script`, 'model'));
const [shared = ''] = folders;
const python = (program: string, ...args: string[]): string =>
  execFileSync('/usr/bin/python3', ['-B', '-c', program, ...args], { encoding: 'utf8', cwd: path.dirname(shared) });

test('both scripts compile, and share one module', () => {
  const [one, two] = folders.map((folder) => readFileSync(path.join(folder, 'report.py'), 'utf8'));
  assert.equal(one, two);
  const compile = 'import ast, sys\nfor file in sys.argv[1:]: ast.parse(open(file).read(), file)';
  python(compile, ...folders.flatMap((folder) => ['report.py', 'training.py'].map((name) => path.join(folder, name))));
});

const labels = ['a', 'b', 'c', 'none held out'];
const rows: [truth: number, probabilities: number[]][] = [
  [0, [0.7, 0.1, 0.1, 0.1]],
  [0, [0.2, 0.6, 0.1, 0.1]],
  [1, [0.1, 0.8, 0.05, 0.05]],
  [1, [0.1, 0.3, 0.35, 0.25]],
  [2, [0, 0, 1, 0]],
  [2, [0.4, 0.3, 0.2, 0.1]],
  [2, [0.25, 0.25, 0.25, 0.25]],
];
test('accuracy, macro F1, the rows of labels, their intervals and the confusion are those of this trainer', () => {
  const program = `
import json, sys
from model import report
rows, labels = json.loads(sys.argv[1]), json.loads(sys.argv[2])
print(json.dumps(report.score([row[0] for row in rows], [row[1] for row in rows], labels)))`;
  const found = JSON.parse(python(program, JSON.stringify(rows), JSON.stringify(labels))) as unknown;
  const evaluated = rows.map(([truth, probabilities]) => ({
    classes: [truth],
    probabilities: Float64Array.from(probabilities),
  }));
  const confusion = confusionOf(evaluated, labels.length);
  const expected = {
    ...scoreOf(evaluated, labels),
    per_class: classReports(confusion, labels).map(withIntervals),
    confusion,
  };
  assert.deepEqual(rounded(found), rounded(expected));
});
/** Both compute in 64 bits, in another order. */
const rounded = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_, one: unknown) => (typeof one === 'number' ? Number(one.toFixed(9)) : one)));

test('a kill while a checkpoint is saved leaves the one before it, and old networks go', async () => {
  await using folder = await tempFolder();
  const program = `
import json, os, sys
from model import report
kept = report.Checkpoint(".bin", sys.argv[1])
print(kept.load())
def write(text):
    def save(file):
        with open(file, "w") as stream: stream.write(text)
    return save
kept.save({"curve": [1]}, write("one"))
kept.save({"curve": [1, 2]}, write("two"))
def broken(file):
    open(file, "w").write("thr")
    raise KeyboardInterrupt
try: kept.save({"curve": [1, 2, 3]}, broken)
except KeyboardInterrupt: pass
state, file = report.Checkpoint(".bin", sys.argv[1]).load()
print(state, open(file).read())
kept.save({"curve": [1, 2, 3, 4]}, write("four"))
print(sorted(os.listdir(sys.argv[1])))`;
  assert.deepEqual(python(program, folder.path).trim().split('\n'), [
    'None',
    "{'curve': [1, 2]} two",
    "['network-4.bin', 'state.json']",
  ]);
});

test('the dataset by split, labels in order, images without exactly one label left out, and the choice of weights', async () => {
  await using folder = await tempFolder();
  const program = `
import json, os, sys
from model import report
lines = [dict(image_path=str(i), split=split, classification_annotations=[dict(annotation_label=one) for one in labels])
    for i, (split, labels) in enumerate([("train", ["b"]), ("validation", ["a"]), ("test", ["a", "b"]), ("train", [])])]
file = sys.argv[1] + "/dataset.jsonl"
open(file, "w").write("".join(json.dumps(line) + "\\n" for line in lines))
by_split, labels, skipped = report.read_dataset(file)
print({split: len(lines) for split, lines in by_split.items()}, labels, [one["reason"] for one in skipped])
def tried(*words):
    try: return os.path.basename(report.weights_in(*words))
    except SystemExit as end: return str(end)
os.environ.pop("PLATFORM_WEIGHTS_DIR", None)
print(tried((".x",)))
os.environ["PLATFORM_WEIGHTS_DIR"] = sys.argv[1]
for name in ("one.x", "two.x"): open(sys.argv[1] + "/" + name, "w").close()
print(tried((".x",)))
print(tried((".x",), "two.x"), tried((".jsonl",)))
print(tried((".x",), "../two.x"))`;
  assert.deepEqual(python(program, folder.path).trim().split('\n'), [
    "{'train': 1, 'validation': 1, 'test': 0} ['a', 'b'] ['it has 2 labels', 'it has 0 labels']",
    'This runner has no folder of weights. Its operator starts it with --script-weights FOLDER.',
    "Choose the weights with the argument weights; the runner has ['one.x', 'two.x'].",
    'two.x dataset.jsonl',
    "There are no weights ../two.x; the runner has ['one.x', 'two.x'].",
  ]);
});
