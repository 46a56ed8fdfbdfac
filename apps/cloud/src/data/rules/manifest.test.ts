import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseDatasetLine } from '@platform/contract/job/job';
import { labelsOf } from './dataset-rules.ts';
import { goTime, manifestLine, parseBinaryDataId, type DatasetImage } from './manifest.ts';

const org = '11111111-1111-4111-8111-111111111111';
const image = (n: number, more: Partial<DatasetImage> = {}): DatasetImage => ({
  sha256: String(n).padStart(64, '0'),
  tags: ['mug', 'split:test'],
  captureTags: [],
  id: `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`,
  orgId: org,
  locationId: 'abcdefghij',
  machineId: null,
  partId: null,
  componentName: 'camera',
  sizeBytes: 7,
  fileName: '',
  fileExt: '.jpg',
  timeRequestedUs: 1_704_207_845_999_000,
  classifications: [{ label: 'cup', confidence: 0.5 }],
  boxes: [{ id: 'b', label: 'cup', xMin: 0, yMin: 0.25, xMax: 1, yMax: 0.75, confidence: null }],
  ...more,
});

test('manifest: lines as the job contract reads them', () => {
  const lines = [manifestLine(image(1), 'test'), manifestLine(image(2, { fileName: 'a/b.jpg' }), 'train')].map((line) =>
    parseDatasetLine(JSON.parse(line)),
  );
  assert.deepEqual(
    lines.map((line) => line.split),
    ['test', 'train'],
  );
  const first = lines.find((line) => line.file_name.endsWith('1.jpg'));
  assert.deepEqual(first?.classification_annotations, [
    { annotation_label: 'cup', confidence: 0.5 },
    { annotation_label: 'mug' },
  ]);
  assert.equal(first?.timestamp, '2024-01-02 15:04:05.999 +0000 UTC');
  assert.equal(first?.binary_data_id, `${org}/abcdefghij/00000000-0000-4000-8000-000000000001`);
  assert.equal(lines.find((line) => line.split === 'train')?.image_path, 'a/b.jpg');
});

test('a group: tag is not a label and stands in the manifest', () => {
  const tags = ['b', 'group:line 3', 'group:', 'groups'];
  assert.deepEqual(labelsOf({ tags, captureTags: [], classifications: [{ label: 'group:x' }] }), ['b', 'groups']);
  const line = parseDatasetLine(JSON.parse(manifestLine(image(1, { tags }), 'train')));
  assert.equal(line.group, 'line 3');
  assert.ok(!('group' in parseDatasetLine(JSON.parse(manifestLine(image(1), 'train')))));
});

const times: [us: number, text: string][] = [
  [0, '1970-01-01 00:00:00 +0000 UTC'],
  [1, '1970-01-01 00:00:00.000001 +0000 UTC'],
  [-1, '1969-12-31 23:59:59.999999 +0000 UTC'],
  [1_704_207_845_120_000, '2024-01-02 15:04:05.12 +0000 UTC'],
];
for (const [us, text] of times) test(`time as Go prints it: ${text}`, () => assert.equal(goTime(us), text));

const ids: [text: string, ok: boolean][] = [
  [`${org}/abcdefghij/${org}`, true],
  [`${org}//${org}`, true],
  [`${org}/a/${org}/x`, false],
  [`${org}/a`, false],
  [`x/a/${org}`, false],
  ['', false],
];
for (const [text, ok] of ids)
  test(`binary data id "${text}"`, () => assert.equal(parseBinaryDataId(text) !== undefined, ok));
