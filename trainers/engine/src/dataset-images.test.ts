import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PlatformError } from '@platform/contract/errors/errors';
import type { DatasetLine } from '@platform/contract/job/job';
import { requireReadable, type Skipped } from './dataset-images.ts';

const line = (name: string): DatasetLine => ({
  image_path: `data/${name}`,
  file_name: name,
  sha256: 'a',
  size_bytes: 1,
  split: 'train',
  classification_annotations: [],
  bounding_box_annotations: [],
  timestamp: '',
  part_id: '',
  component_name: '',
  binary_data_id: `org/loc/${name}`,
});
const skipped = (name: string, reason: string): Skipped => ({ line: line(name), reason });

test('images of which none can be decoded: formats, counts and examples instead of "add images"', () => {
  const all = [
    ...['a.heic', 'b.heic'].map((name) => skipped(name, 'cannot be decoded: it is not a JPEG, PNG or WebP image')),
    skipped('c.jpg', 'cannot be decoded: VipsJpeg: premature end'),
    skipped('d.jpg', 'has several labels: a, b'),
  ];
  assert.throws(
    () => requireReadable(0, all),
    (error: unknown) => {
      assert.ok(error instanceof PlatformError);
      assert.equal(error.code, 'IMAGES_UNREADABLE');
      assert.equal(
        error.what,
        'None of the 3 images can be decoded: 2 × it is not a JPEG, PNG or WebP image, 1 × VipsJpeg: premature end; for example a.heic org/loc/a.heic, b.heic org/loc/b.heic, c.jpg org/loc/c.jpg.',
      );
      assert.match(error.remedy, /Convert other formats/);
      return true;
    },
  );
});

test('some that can be decoded are enough, and other reasons have errors of their own', () => {
  requireReadable(1, [skipped('a.heic', 'cannot be decoded: x')]);
  requireReadable(0, [skipped('a.jpg', 'has several labels: a, b')]);
  requireReadable(0, []);
});
