// Power cuts during an update, in a virtual machine: it loses its memory and the cache of its disk. Slower by far than
// power.lab.test.ts, the same in a container. PLATFORM_LAB_VM_CUTS, PLATFORM_LAB_SEED.
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import { virtualMachine } from '../lab/machine.ts';
import { cutsDuringUpdate } from '../lab/power-cuts.ts';

const seed = Number(process.env['PLATFORM_LAB_SEED'] ?? randomInt(1_000_000));
const vmCuts = Number(process.env['PLATFORM_LAB_VM_CUTS'] ?? 50);

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
