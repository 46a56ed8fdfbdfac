// The cost of idle minutes on a machine with agent and machine server: processor, network, disk, memory, as the
// machine's kernel counts them.
import assert from 'node:assert/strict';
import { systemClock } from '@platform/kit/node';
import type { Installation } from './install-story.ts';
import { mainPid } from './installed.ts';
import { type LabMachine, serverName } from './machine.ts';
import { keep } from './results.ts';

interface Costs {
  pid: number;
  /** Seconds of one core. */
  cpuSeconds: number;
  /** Voluntary context switches of its threads: each is a wake-up of the processor. */
  wakeUps: number;
  writtenBytes: number;
  anonymousMb: number;
  residentMb: number;
}

async function costs(on: LabMachine, unit: string): Promise<Costs> {
  const pid = await mainPid(on, unit);
  // Includes exited children: short-lived processes count, too.
  const [cpu, wakeUps, written, anonymous, resident] = (
    await on.must(
      `awk '{ sub(/.*\\) /, ""); print ($12 + $13 + $14 + $15) / 100 }' /proc/${pid}/stat; awk '/^voluntary_ctxt_switches/ { n += $2 } END { print n }' /proc/${pid}/task/*/status; awk '/^write_bytes/ { print $2 }' /proc/${pid}/io; awk '/^RssAnon/ { print $2 / 1024 }' /proc/${pid}/status; awk '/^VmRSS/ { print $2 / 1024 }' /proc/${pid}/status`,
    )
  )
    .split('\n')
    .map(Number);
  return {
    pid,
    cpuSeconds: cpu!,
    wakeUps: wakeUps!,
    writtenBytes: written!,
    anonymousMb: anonymous!,
    residentMb: resident!,
  };
}

/**
 * Bytes of the interface to the server, both directions, with the headers of TCP and IP. (/sys in a container shows the
 * host's interfaces.)
 */
const wireBytes = async (on: LabMachine): Promise<number> =>
  Number(
    await on.must(
      `set -e; address=$(getent ahostsv4 ${serverName} | awk 'NR == 1 { print $1 }'); device=$(ip -o route get "$address" | sed 's/.* dev \\([^ ]*\\).*/\\1/'); awk -v device="$device:" '$1 == device { print $2 + $10 }' /proc/net/dev`,
    ),
  );

/** The sum of resident memory counts the shared program file twice. */
const sum = (a: Costs, b: Costs): Costs => ({
  pid: a.pid,
  cpuSeconds: a.cpuSeconds + b.cpuSeconds,
  wakeUps: a.wakeUps + b.wakeUps,
  writtenBytes: a.writtenBytes + b.writtenBytes,
  anonymousMb: a.anonymousMb + b.anonymousMb,
  residentMb: a.residentMb + b.residentMb,
});

const cpuOf = (name: string, minutes: number, before: Costs, after: Costs): string => {
  const seconds = after.cpuSeconds - before.cpuSeconds;
  return `${name}: ${seconds.toFixed(2)} s of CPU (${((seconds / (minutes * 60)) * 100).toFixed(2)} % of a core), ${((after.wakeUps - before.wakeUps) / (minutes * 60)).toFixed(1)} wake-ups a second, ${((after.writtenBytes - before.writtenBytes) / 1024).toFixed(0)} KiB written to disk, ${after.anonymousMb.toFixed(0)} MiB of memory anonymous, ${after.residentMb.toFixed(0)} MiB resident`;
};

/** Both programs run, and are online. */
export async function idles(
  { machine, where }: Pick<Installation, 'machine' | 'where'>,
  minutes: number,
): Promise<void> {
  const look = async () => ({
    agent: await costs(machine, 'platform-agent'),
    relay: await costs(machine, 'platform-server-output'),
    server: await costs(machine, 'platform-server'),
    wire: await wireBytes(machine),
  });
  await systemClock.sleep(60_000); // the cost of the start is over
  const before = await look();
  await systemClock.sleep(minutes * 60_000);
  const after = await look();
  assert.equal(after.agent.pid, before.agent.pid, 'the agent was started again');
  assert.equal(after.relay.pid, before.relay.pid, 'the relay was started again');
  assert.equal(after.server.pid, before.server.pid, 'the machine server was started again');
  const wire = (after.wire - before.wire) / 1024;
  const note = [
    cpuOf('agent', minutes, before.agent, after.agent),
    cpuOf('relay of the output', minutes, before.relay, after.relay),
    cpuOf('agent and relay together', minutes, sum(before.agent, before.relay), sum(after.agent, after.relay)),
    cpuOf('machine server', minutes, before.server, after.server),
    `machine: ${wire.toFixed(0)} KiB on the wire, both directions (${((wire * 144 * 10) / minutes / 1024).toFixed(1)} MiB a day)`,
  ].join('; ');
  await keep(`${minutes} idle minutes`, where, minutes * 60, note);
}
