// The PyTorch example with an untrained backbone of timm.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runReference } from './reference-script.ts';

const python = process.env['PLATFORM_TEST_TORCH_PYTHON'] ?? '';
const makeWeights = `
import sys
import timm, torch
torch.manual_seed(1)
torch.save(timm.create_model("resnet10t", num_classes=0).state_dict(), sys.argv[1] + "/resnet10t.pt")
`;

test('the PyTorch example trains from the weights of the operator, resumes, and reports like a built-in trainer', async () => {
  assert.ok(python, 'PLATFORM_TEST_TORCH_PYTHON names a Python with the packages of tools/torch');
  await runReference({
    example: 'pytorch-training-script',
    python,
    environment: 'pytorch:2',
    makeWeights,
    weightsFile: 'resnet10t.pt',
    modelFile: 'model.onnx',
    flags: { probe_epochs: '20', epochs: '20', learning_rate: '0.01', side: '32' },
    memoryMib: 6144,
  });
});
