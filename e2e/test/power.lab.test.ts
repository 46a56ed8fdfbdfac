// Power cuts during an update, on two machines. A container (fast) has its programs on a disk that loses unflushed
// writes. An emulated machine (slow) loses its memory and its disk's cache. PLATFORM_LAB_CUTS, PLATFORM_LAB_VM_CUTS,
// PLATFORM_LAB_SEED.
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import { systemClock } from '@platform/kit/node';
import { cuttableContainer, virtualMachine } from '../lab/machine.ts';
import { cutsDuringUpdate } from '../lab/power-cuts.ts';

const seed = Number(process.env['PLATFORM_LAB_SEED'] ?? randomInt(1_000_000));
const cuts = Number(process.env['PLATFORM_LAB_CUTS'] ?? 50);
const vmCuts = Number(process.env['PLATFORM_LAB_VM_CUTS'] ?? 50);

test(
  `${cuts} power cuts during an update, in a container with a disk that forgets, seed ${seed}`,
  { timeout: 3 * 3_600_000 },
  (t) =>
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

test(`${vmCuts} power cuts during an update, in a virtual machine, seed ${seed}`, { timeout: 4 * 3_600_000 }, (t) =>
  cutsDuringUpdate(t, { cuts: vmCuts, seed }, async (port) => {
    const machine = await virtualMachine(port);
    return {
      machine,
      where: 'vm',
      cut: (afterSeconds, torn) => machine.cut(afterSeconds, torn),
      save: async () => {
        await machine.must('systemctl stop platform-agent && sync', 300);
        await machine.save('before');
      },
      load: async () => {
        await machine.load('before');
        await machine.must('systemctl start platform-agent', 300);
      },
    };
  }),
);
