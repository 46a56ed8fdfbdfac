// Power cuts during an update, in a container whose disk loses unflushed writes; power-vm.lab.test.ts is the same in a
// virtual machine. PLATFORM_LAB_CUTS, PLATFORM_LAB_SEED.
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import { systemClock } from '@platform/kit/node';
import { cuttableContainer } from '../lab/machine.ts';
import { cutsDuringUpdate } from '../lab/power-cuts.ts';

const seed = Number(process.env['PLATFORM_LAB_SEED'] ?? randomInt(1_000_000));
const cuts = Number(process.env['PLATFORM_LAB_CUTS'] ?? 50);
const limit = { timeout: 3 * 3_600_000 };

test(`${cuts} power cuts during an update, in a container with a disk that forgets, seed ${seed}`, limit, (t) =>
  cutsDuringUpdate(t, { cuts, seed }, async (port) => {
    const machine = await cuttableContainer(port);
    return {
      machine,
      where: 'container',
      cut: async (afterSeconds, torn) => {
        await systemClock.sleep(afterSeconds * 1000);
        await machine.cut(torn);
      },
      save: () => machine.save(),
      load: () => machine.load(),
    };
  }),
);
