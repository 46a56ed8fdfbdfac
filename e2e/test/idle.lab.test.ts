// What ten idle minutes cost: processor, network, disk. Counted by the kernel of the machine.
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { systemClock } from '@platform/kit/node';
import { build } from '../lab/builds.ts';
import { installed, mainPid, telling } from '../lab/installed.ts';
import { type LabMachine, container } from '../lab/machine.ts';
import { keep } from '../lab/results.ts';
import { startSite } from '../lab/site.ts';

const minutes = Number(process.env['PLATFORM_LAB_IDLE_MINUTES'] ?? 10);

interface Costs {
  pid: number;
  /** Of a core. */
  cpuSeconds: number;
  writtenBytes: number;
  anonymousMb: number;
  residentMb: number;
}

async function costs(on: LabMachine, unit: string): Promise<Costs> {
  const pid = await mainPid(on, unit);
  // With the children that have ended: what was started for a moment counts, too.
  const [cpu, written, anonymous, resident] = (
    await on.must(
      `awk '{ sub(/.*\\) /, ""); print ($12 + $13 + $14 + $15) / 100 }' /proc/${pid}/stat; awk '/^write_bytes/ { print $2 }' /proc/${pid}/io; awk '/^RssAnon/ { print $2 / 1024 }' /proc/${pid}/status; awk '/^VmRSS/ { print $2 / 1024 }' /proc/${pid}/status`,
    )
  )
    .split('\n')
    .map(Number);
  return { pid, cpuSeconds: cpu!, writtenBytes: written!, anonymousMb: anonymous!, residentMb: resident! };
}

const wireBytes = async (on: LabMachine): Promise<number> =>
  Number(
    await on.must('cd /sys/class/net/eth0/statistics 2>/dev/null && echo $(( $(cat rx_bytes) + $(cat tx_bytes) ))'),
  );

test(`${minutes} idle minutes`, { timeout: 1_800_000 }, async () => {
  await using site = await startSite();
  await site.publish(await build('platform-server', '0.1.0'), 'stable');
  await site.publish(await build('platform-agent', '0.1.0'), 'stable');
  await using machine = await container(site.port);
  await telling(machine, async () => {
    await installed(site, machine, 'barn');
    await systemClock.sleep(60_000); // what a start costs is over
    const before = { agent: await costs(machine, 'platform-agent'), wire: await wireBytes(machine) };
    await systemClock.sleep(minutes * 60_000);
    const after = { agent: await costs(machine, 'platform-agent'), wire: await wireBytes(machine) };
    assert.equal(after.agent.pid, before.agent.pid, 'the agent was started again');
    const cpu = after.agent.cpuSeconds - before.agent.cpuSeconds;
    const written = (after.agent.writtenBytes - before.agent.writtenBytes) / 1024;
    const wire = (after.wire - before.wire) / 1024;
    const note = [
      `agent: ${cpu.toFixed(2)} s of CPU (${((cpu / (minutes * 60)) * 100).toFixed(2)} % of a core), ${written.toFixed(0)} KiB written to disk`,
      `machine: ${wire.toFixed(0)} KiB on the wire, both directions (${((wire * 144 * 10) / minutes / 1024).toFixed(1)} MiB a day)`,
      `agent's memory ${after.agent.anonymousMb.toFixed(0)} MiB anonymous, ${after.agent.residentMb.toFixed(0)} MiB resident`,
    ].join('; ');
    await keep(`${minutes} idle minutes`, 'container', minutes * 60, note);
  });
});
