import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { BinaryMetadataSchema } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { captureTagsOf, labelsOf, tagChoices } from './image-labels.ts';

test('labels, predicted ones among them, are separate from tags of the capture and of the split', () => {
  const image = create(BinaryMetadataSchema, {
    labels: ['cup'],
    split: 'test',
    captureMetadata: { tags: ['line-3', 'cup', 'split:test'] },
    annotations: { classifications: [{ label: 'cup' }, { label: 'pen', confidence: 0.4 }] },
  });
  assert.deepEqual(labelsOf(image), ['cup', 'pen']);
  assert.deepEqual(captureTagsOf(image), ['line-3']);
});

test('choices: labels, splits, tags of captures; a word that is a label somewhere is one', () => {
  assert.deepEqual(
    tagChoices(['pen', 'split:test', 'line-3', 'cup'], ['pen', 'cup', 'disc']).map(({ tag, kind }) => `${kind} ${tag}`),
    ['label cup', 'label disc', 'label pen', 'split split:test', 'capture line-3'],
  );
});
