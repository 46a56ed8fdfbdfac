import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileMeaning } from './model-files.ts';

test('each file of a built-in trainer says what it is for; the INT8 forms differ from the float32 ones', () => {
  const names = ['a.onnx', 'a.int8.onnx', 'a.tflite', 'a.int8.tflite', 'labels.txt', 'evaluation.json', 'curves.png'];
  const found = [...names, 'model_card.md', 'model_card.json'].map(fileMeaning);
  assert.equal(new Set(found).size, found.length);
  assert.match(fileMeaning('a.int8.onnx') ?? '', /8-bit/);
  assert.equal(fileMeaning('weights.pt'), undefined);
});
