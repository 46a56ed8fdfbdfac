import { randomUUID } from 'node:crypto';
import type { LogLine } from '@platform/kit';
import { FakeClock } from '@platform/kit/testing';
import { SimDevice } from '../src/os/sim/device.ts';
import type { Ending } from '../src/composition/lifetime.ts';
import { runAgent, type AgentParts } from '../src/composition/run-agent.ts';
import type { OwnLayers } from '../src/config/config-receiver.ts';
import { sha256Of, TestCloud } from './test-cloud.ts';

export interface RunningAgent {
  stop(): void;
  /** Like kill -9: from now on the agent does nothing. */
  kill(): void;
  readonly done: Promise<Ending>;
}

/** A simulated device, a cloud and a clock; agents start and end. */
export class World {
  readonly clock = new FakeClock();
  readonly machine = new SimDevice(this.clock);
  readonly cloud = new TestCloud(this.clock);
  /** URL of the cloud. */
  address = 'http://cloud';
  /** All agents' log records, one text per line. */
  readonly transcript: string[] = [];

  /** Publishes a script as a program. The release has the script's hash, or the hash of `hashSource`. */
  publish(version: string, script: string, hashSource = script): void {
    const url = `https://releases/${version}`;
    this.machine.releases.files.set(url, Buffer.from(script));
    this.cloud.serverRelease.set({ version, url, sha256: sha256Of(hashSource) });
  }

  start(layers: Partial<OwnLayers> = {}, also: Partial<AgentParts> = {}): RunningAgent {
    const { device, clock, kill } = this.machine.session();
    const stop = new AbortController();
    const life = { isKilled: false };
    const done = runAgent(
      {
        device,
        clock,
        transport: this.cloud.transport(),
        credentials: {
          appAddress: this.address,
          partId: this.cloud.partId,
          entity: this.cloud.partId,
          type: 'robot-secret',
          payload: this.cloud.secret,
        },
        credentialsFile: () => '/etc/platform.json',
        root: '/opt/platform',
        layers: { commandLine: undefined, manufacturer: undefined, isFastStart: false, ...layers },
        version: '9.9.9',
        sink: (line) => {
          if (!life.isKilled) this.transcript.push(this.#text(line));
        },
        random: () => 0.5,
        newId: randomUUID,
        ...also,
      },
      stop.signal,
    );
    return {
      done,
      stop: () => stop.abort(new Error('stopped')),
      kill: () => {
        life.isKilled = true;
        kill();
      },
    };
  }

  /** Returns and removes the recorded lines of these loggers (none given: all loggers). */
  takeLog(...loggers: string[]): string {
    return this.transcript
      .splice(0)
      .filter((line) => loggers.length === 0 || loggers.some((l) => line.slice(7).startsWith(`${l} `)))
      .join('\n');
  }

  #text({ logger, message, fields }: LogLine): string {
    const seconds = Math.floor(this.clock.now() / 1000);
    const time = `${String(Math.floor(seconds / 60)).padStart(3)}:${String(seconds % 60).padStart(2, '0')}`;
    if (message === 'state') {
      const { from, to, because } = fields as { from: string; to: string; because: { is: string } };
      return `${time} ${logger} ${from} → ${to} (${because.is})`;
    }
    const shown = ['version', 'id', 'how', 'error', 'path', 'used', 'revision', 'lastLines'].filter(
      (k) => fields[k] !== undefined,
    );
    return [
      time,
      logger,
      message,
      ...shown.map((k) =>
        Array.isArray(fields[k]) ? `[${fields[k].join('|')}]` : String(fields[k]).split(': The')[0],
      ),
    ].join(' ');
  }
}

export const minute = 60_000;
/** Becomes ready at once and runs until stopped. */
export const good = (name: string): string =>
  [
    '#!/bin/sh',
    `echo '{"platform_server":"ready","version":"${name}","url":"http://127.0.0.1:7000"}'`,
    'sleep 1000000',
    '',
  ].join('\n');
export const crashing = (seconds: number): string =>
  [
    '#!/bin/sh',
    'echo it hurts >&2',
    `echo '{"platform_server":"ready","url":"http://127.0.0.1:7000"}'`,
    `sleep ${seconds}`,
    'exit 3',
    '',
  ].join('\n');
