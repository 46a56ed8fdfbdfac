// Log lines of many machines at once: how many per second are accepted, committed and stored exactly once.
import { randomUUID } from 'node:crypto';
import { create, toBinary } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { LogRequestSchema, RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import { systemClock } from '@platform/kit/node';
import { cpuMs, type FleetLab, type FleetMember } from '../src/fleet-lab.ts';
import { callBytes, WireLink } from '../src/wire-link.ts';
import { tokenOf } from './fleet-agents.ts';

const linesPerCall = 100;
const logMethod = `${RobotService.typeName}/${RobotService.method.log.name}`;

export interface LogFigures {
  machines: number;
  lines: number;
  /** Sent again although they were accepted. */
  repeated: number;
  seconds: number;
  serverUsPerLine: number;
  databaseUsPerLine: number;
  /** Sequence numbers that are missing or duplicated in the database. */
  lost: number;
  twice: number;
  /** Milliseconds from the call to the answer. */
  waits: number[];
}

/**
 * Each machine sends its lines in sequential calls of 100; every tenth call is sent twice.
 * @param ageMs - age of the lines: recent lines go into the partition of their own day, very old ones into today's.
 */
export async function measureLogs(
  lab: FleetLab,
  members: readonly FleetMember[],
  callsEach: number,
  ageMs: number,
): Promise<LogFigures> {
  const { url } = lab.ready;
  const bootId = randomUUID();
  const senders = await Promise.all(
    members.map(async (member, at) => {
      const link = new WireLink(url);
      const token = await tokenOf(url, link, member);
      const calls = Array.from({ length: callsEach }, (_, n) =>
        callOf(url, token, { partId: member.partId, bootId, n, machine: at, firstMs: systemClock.wall() - ageMs }),
      );
      return { link, calls };
    }),
  );
  const waits: number[] = [];
  let repeated = 0;
  const [server, database] = [cpuMs([lab.pid]), lab.databaseCpuMs];
  const started = systemClock.now();
  await Promise.all(
    senders.map(async ({ link, calls }) => {
      for (const [n, call] of calls.entries()) {
        const from = systemClock.now();
        const answers = [await link.ask(call)];
        waits.push(systemClock.now() - from);
        if (n % 10 === 9) {
          answers.push(await link.ask(call));
          repeated += linesPerCall;
        }
        for (const { status, body } of answers)
          if (status !== 200) throw new Error(`Log: ${status} ${body.toString()}`);
      }
      link.close();
    }),
  );
  const seconds = (systemClock.now() - started) / 1000;
  const lines = members.length * callsEach * linesPerCall;
  const [serverMs, databaseMs] = [cpuMs([lab.pid]) - server, lab.databaseCpuMs - database];
  const [found] = await lab.sql<{ rows: string; distinct: string }>(
    `select count(*) as rows, count(distinct (part_id, sequence)) as distinct from part_log where boot_id = $1`,
    [bootId],
  );
  const [rows, distinct] = [Number(found?.rows), Number(found?.distinct)];
  return {
    machines: members.length,
    lines,
    repeated,
    seconds,
    serverUsPerLine: (serverMs * 1000) / (lines + repeated),
    databaseUsPerLine: (databaseMs * 1000) / (lines + repeated),
    lost: lines - distinct,
    twice: rows - distinct,
    waits,
  };
}

interface Call {
  partId: string;
  bootId: string;
  n: number;
  machine: number;
  firstMs: number;
}

function callOf(url: string, token: string, { partId, bootId, n, machine, firstMs }: Call): Buffer {
  const logs = Array.from({ length: linesPerCall }, (_, at) => {
    const sequence = n * linesPerCall + at + 1;
    return {
      host: `device-${machine}`,
      level: at % 20 === 0 ? 'warn' : 'info',
      time: timestampFromMs(firstMs + sequence * 7),
      loggerName: 'platform-server.camera',
      message: `frame ${sequence} of the camera at the gate was looked at in 41 ms, nothing was found in it`,
      fields: [{ camera: 'gate' }, { ms: 41 }],
      sequence: BigInt(sequence),
      bootId,
    };
  });
  const body = toBinary(LogRequestSchema, create(LogRequestSchema, { id: partId, logs }));
  return callBytes(url, logMethod, body, { authorization: `Bearer ${token}` });
}
