import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { BinaryMetadataSchema } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { planImport } from '@platform/dataset-files/plan';
import { datasetLine, fileNames } from './export-lines.ts';

const image = create(BinaryMetadataSchema, {
  binaryDataId: 'org/loc/file-1',
  timeRequested: { seconds: 1_704_207_845n, nanos: 999_000_000 },
  fileName: 'folder/a:b.jpg',
  fileExt: '.jpg',
  captureMetadata: { organizationId: 'org', locationId: 'loc', tags: ['line-3', 'cup', 'split:test'] },
  labels: ['cup'],
  split: 'test',
  annotations: {
    classifications: [{ label: 'cup', confidence: 0.5 }, { label: 'mug' }],
    bboxes: [
      { id: '7', label: 'lid', xMinNormalized: 0.1, yMinNormalized: 0.2, xMaxNormalized: 0.3, yMaxNormalized: 0.4 },
    ],
  },
});

test('a line as training scripts read it', () => {
  assert.deepEqual(JSON.parse(datasetLine(image, 'data/x.jpg')), {
    image_path: 'data/x.jpg',
    classification_annotations: [{ annotation_label: 'cup', confidence: 0.5 }, { annotation_label: 'mug' }],
    bounding_box_annotations: [
      {
        id: '7',
        annotation_label: 'lid',
        x_min_normalized: 0.1,
        x_max_normalized: 0.3,
        y_min_normalized: 0.2,
        y_max_normalized: 0.4,
      },
    ],
    timestamp: '2024-01-02 15:04:05.999 +0000 UTC',
    part_id: '',
    component_name: '',
    split: 'test',
    binary_data_id: 'org/loc/file-1',
    organization_id: 'org',
    location_id: 'loc',
  });
});

test('what was exported can be uploaded again', async () => {
  // A PNG file of 1 × 1 px.
  const pixel = Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==',
    'base64',
  );
  const files = new Map<string, Uint8Array>([
    ['dataset.jsonl', Buffer.from(datasetLine(image, 'data/x.png'))],
    ['data/x.png', pixel],
  ]);
  const bytesOf = (name: string): Uint8Array => files.get(name) ?? new Uint8Array();
  const { images } = await planImport({
    files: [...files].map(([name, bytes]) => ({ path: name, sizeBytes: bytes.length })),
    read: (name) => Promise.resolve(bytesOf(name)),
    readStart: (name, bytes) => Promise.resolve(bytesOf(name).subarray(0, bytes)),
  });
  assert.deepEqual(
    images.map(({ labels, split, boxes }) => ({ labels, split, boxes })),
    [{ labels: ['cup', 'mug'], split: 'test', boxes: [{ label: 'lid', xMin: 0.1, yMin: 0.2, xMax: 0.3, yMax: 0.4 }] }],
  );
});

test('formats that name files after images need names that differ without their extension', () => {
  const nameOf = fileNames({ isStemUnique: true });
  const named = (fileName: string, id: string) => create(BinaryMetadataSchema, { fileName, binaryDataId: `o/l/${id}` });
  assert.equal(nameOf(named('a.jpg', '1')), '1970-01-01T00_00_00Z_a.jpg');
  assert.equal(nameOf(named('a.png', '2')), '2_1970-01-01T00_00_00Z_a.png');
});

test('names of files: time and name, each once, nothing that a file system refuses', () => {
  const nameOf = fileNames();
  assert.equal(nameOf(image), '2024-01-02T15_04_05.999Z_a_b.jpg');
  assert.equal(nameOf(image), 'file-1_2024-01-02T15_04_05.999Z_a_b.jpg');
  const nameless = create(BinaryMetadataSchema, { binaryDataId: 'org/loc/file-2', fileExt: '.png' });
  assert.equal(nameOf(nameless), '1970-01-01T00_00_00Z_file-2.png');
});
