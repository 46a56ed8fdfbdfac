/**
 * CPU time of one training step per image, MobileNetV2 or EfficientNet-Lite0 or Lite2, eight images per step, one
 * thread: by how much of the network is trained (all convolutions frozen: the linear layer only). Prints one JSON
 * object per line: {"from", "cpu_ms", "wall_ms", "rss_mib"}.
 *   node speed.ts [--steps=12] [--from=0,30,46] [--network=mobilenet|Lite0|Lite2] [--side=160]
 */
import { parseArgs } from 'node:util';
import { Adam } from '@platform/trainer-engine/autodiff/adam';
import { systemClock } from '@platform/trainer-engine/clock';
import type { Backbone } from '@platform/trainer-engine/pretrained/efficientnet';
import { readEfficientnet } from '@platform/trainer-engine/pretrained/efficientnet';
import { openSession } from '@platform/trainer-engine/runtime';
import { allocateGradients } from '../src/fine-tune.ts';
import { trainingGraph, trialStep } from '../src/network.ts';
import { mobilenet } from './mobilenet.ts';

const { values: flags } = parseArgs({
  options: {
    steps: { type: 'string', default: '12' },
    from: { type: 'string', default: '0,30,46' },
    network: { type: 'string', default: 'mobilenet' },
    side: { type: 'string', default: '160' },
  },
});
const geometry = { batch: 8, side: Number(flags.side), classes: 10 };
const warmUp = 3;
const backbone = ((): Backbone => {
  if (flags.network === 'mobilenet') return mobilenet();
  if (flags.network === 'Lite0' || flags.network === 'Lite2') return readEfficientnet(flags.network);
  throw new Error(`there is no network ${flags.network}; there are mobilenet, Lite0, Lite2`);
})();

for (const from of flags.from.split(',').map(Number)) {
  const { model, tape } = trainingGraph(backbone, geometry, from, 'softmax');
  const { feeds } = trialStep(backbone, geometry, from);
  const session = await openSession(model, 1);
  const adam = new Adam();
  const gradients = allocateGradients(tape);
  const steps = Number(flags.steps);
  let [cpu, wall] = [process.cpuUsage(), systemClock.now()];
  for (let step = 0; step < warmUp + steps; step++) {
    if (step === warmUp) [cpu, wall] = [process.cpuUsage(), systemClock.now()];
    const results = await session.run(feeds, gradients);
    adam.step(tape.parameters, (name) => results(`d_${name}`), 1e-4);
  }
  const used = process.cpuUsage(cpu);
  const images = steps * geometry.batch;
  const line = {
    from,
    cpu_ms: (used.user + used.system) / 1000 / images,
    wall_ms: (systemClock.now() - wall) / images,
    rss_mib: Math.round(process.resourceUsage().maxRSS / 1024),
  };
  console.log(JSON.stringify(line));
  await session.release();
}
