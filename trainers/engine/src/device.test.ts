import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Tape } from './autodiff/tape.ts';
import { chooseDevice, gpusIn, localDevices } from './device.ts';
import type { DevicePort, Gpu, Trial } from './device.ts';
import type { Place } from './runtime.ts';

/** A real step of a small network, whose loss is log 2. */
function trial(): Trial {
  const tape = new Tape();
  const x = tape.input('x', [1, 2]);
  const targets = tape.input('targets', [1, 2]);
  const weights = tape.input('weights', [1, 1]);
  const w = tape.parameter('w', Float32Array.of(0, 0, 0, 0), [2, 2]);
  const logits = tape.dense(x, w, tape.frozen(Float32Array.of(1, 1), [2]));
  tape.softmaxCrossEntropy(logits, targets, weights);
  return {
    model: tape.finish(['loss']),
    feeds: {
      x: { data: Float32Array.of(1, 2), dims: [1, 2] },
      targets: { data: Float32Array.of(1, 0), dims: [1, 2] },
      weights: { data: Float32Array.of(1), dims: [1, 1] },
      w: { data: Float32Array.of(0, 0, 0, 0), dims: [2, 2] },
    },
  };
}

interface Simulated {
  gpus?: readonly Gpu[];
  hasCuda?: boolean;
  /** Error of the GPU's loss, or the error that opening it throws. */
  gpu?: number | Error;
}
/** The CPU is real. A simulated GPU computes on it, too, with the given error. */
function computer({ gpus = [{ name: 'GPU A', freeShare: 1 }], hasCuda = true, gpu = 0 }: Simulated): DevicePort & {
  opened: Place[];
} {
  const real = localDevices(1);
  const opened: Place[] = [];
  return {
    opened,
    hasCuda: () => hasCuda,
    gpus: () => Promise.resolve(gpus),
    open: async (model, place) => {
      opened.push(place);
      if (place !== 'cpu' && gpu instanceof Error) throw gpu;
      const session = await real.open(model, 'cpu');
      const error = place === 'cpu' || gpu instanceof Error ? 0 : gpu;
      return {
        run: async (feeds) => {
          const results = await session.run(feeds);
          return (name) => results(name).map((value) => value + error);
        },
        release: () => session.release(),
      };
    },
  };
}

const stories: [string, Simulated, number, 'cpu' | 'cuda', RegExp][] = [
  ['no GPU', { gpus: [] }, 0, 'cpu', /^There is no GPU/],
  ['no GPU though one is wanted', { gpus: [] }, 1, 'cpu', /^There is no GPU/],
  ['a GPU without the provider', { hasCuda: false }, 1, 'cpu', /CUDA provider is not installed/],
  ['a free GPU', {}, 0, 'cuda', /^One step on GPU A gave the loss of the CPU to/],
  ['a busy GPU, not asked for', { gpus: [{ name: 'GPU A', freeShare: 0.3 }] }, 0, 'cpu', /^Every GPU is in use/],
  ['a busy GPU, asked for', { gpus: [{ name: 'GPU A', freeShare: 0.3 }] }, 1, 'cuda', /^One step on GPU A/],
  ['a GPU that errs', { gpu: 0.01 }, 1, 'cpu', /^One step on GPU A gave the loss 0\.70/],
  ['a GPU that gives no number', { gpu: Number.NaN }, 0, 'cpu', /gave the loss NaN/],
  ['a GPU that errs in the last digits', { gpu: 0.0004 }, 0, 'cuda', /to 4e-4/],
  [
    'a driver that fails',
    { gpu: new Error('CUDA failure 999\nat 0x1') },
    1,
    'cpu',
    /cannot be used: CUDA failure 999$/,
  ],
];
for (const [name, simulated, wanted, device, reason] of stories) {
  test(`${name}: ${device}`, async () => {
    const found = await chooseDevice(computer(simulated), wanted, trial);
    assert.equal(found.name, device);
    assert.match(found.reason, reason);
    assert.equal(found.isFallback, wanted > 0 && device === 'cpu');
  });
}

test('of several GPUs the emptiest is taken, by the number CUDA knows it by', async () => {
  const port = computer({ gpus: [0.2, 0.95, 0.5].map((freeShare, i) => ({ name: `GPU ${i}`, freeShare })) });
  assert.deepEqual((await chooseDevice(port, 1, trial)).place, { cuda: 1 });
  assert.deepEqual(port.opened, [{ cuda: 1 }, 'cpu']);
});

test('this computer: a GPU that ONNX Runtime cannot use is an error, never the CPU in silence', async () => {
  const port = localDevices(1);
  if (port.hasCuda()) return;
  await assert.rejects(port.open(trial().model, { cuda: 0 }));
  const found = await chooseDevice({ ...port, hasCuda: () => true, gpus: computer({}).gpus }, 1, trial);
  assert.equal(found.name, 'cpu');
  assert.match(found.reason, /^GPU A cannot be used: ./);
});

test('what nvidia-smi says, through CUDA_VISIBLE_DEVICES', () => {
  const text = '0, GPU-aa11, NVIDIA A, 1000, 4000\n1, GPU-bb22, NVIDIA B, 0, 8000\n\n';
  const [a, b] = [
    { name: 'NVIDIA A', freeShare: 0.75 },
    { name: 'NVIDIA B', freeShare: 1 },
  ];
  const cases: [string | undefined, unknown[]][] = [
    [undefined, [a, b]],
    ['1,0', [b, a]],
    ['GPU-bb', [b]],
    ['', []],
    ['-1', []],
    ['1,7,0', [b]],
  ];
  for (const [visible, expected] of cases) assert.deepEqual(gpusIn(text, visible), expected, visible);
  assert.deepEqual(gpusIn('No devices were found\n', undefined), []);
});
