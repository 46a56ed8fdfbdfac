import { createHash, randomUUID } from 'node:crypto';
import { Code, ConnectError, type Transport } from '@connectrpc/connect';
import { ServerState } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { Operator } from '../src/versions/operator.ts';
import { FakeClock } from '@platform/kit/testing';
import { SimDevice } from '../src/os/sim/device.ts';
import type { Fate, Step } from '../src/os/sim/file-system.ts';
import type { Survivors } from '../src/os/sim/files.ts';
import { outerCells, runAgent } from '../src/composition/run-agent.ts';
import { Cell, type LogLine } from '@platform/kit';
import { noPreviousRun } from '../src/health/previous-run.ts';
import { gate } from '../src/versions/gate.ts';
import type { Program } from '../src/versions/layout.ts';
import { hashOfUnit } from '../src/versions/unit-renewal.ts';
import { agentBytes, serverBytes } from './programs.ts';
import { sha256Of, TestCloud } from './test-cloud.ts';

export type Behaviour = 'good' | 'crash' | 'hang' | 'mute';

const readyLine = `echo '{"platform_server":"ready","url":"http://127.0.0.1:7000"}'`;
const bodies: Record<Behaviour, string> = {
  good: `${readyLine}\nsleep 100000000\n`,
  crash: 'echo it hurts >&2\nexit 3\n',
  hang: 'sleep 100000000\n',
  mute: `${readyLine}\nsleep 20\nexit 4\n`, // becomes ready, and then fails
};

export const unitPath = 'units/platform-agent.service';
/** The unit that this version requires. */
const unitOf = (id: string): string => `[Unit] of ${id.slice(0, -13)} end`;

const restartMs = 5_000;
const startLimitMs = 90_000;
const bootMs = 20_000;

/**
 * A whole machine under systemd: the gate, then the agent that bin/ points to, restarted whenever it ends. The version
 * determines the agent's behaviour: 1.1.0-crash exits at once, -hang never gets ready, -mute reaches no cloud.
 */
export class Rig {
  readonly clock = new FakeClock();
  readonly machine = new SimDevice(this.clock);
  readonly cloud = new TestCloud(this.clock);
  readonly transcript: string[] = [];
  /** Starts of agents, in order, by version. */
  readonly starts: string[] = [];
  /** The unit in effect at each of these starts. */
  readonly units: [version: string, unit: string][] = [];
  /** The first violation of an invariant. */
  broken: string | undefined;
  /** Versions that may run without being on trial. */
  readonly proven = new Set<string>();
  /** What survives the next power cut. */
  survivors: Survivors = { of: 'nothing' };
  /** Error with which systemd rejects a new unit. */
  unitRefusal: string | undefined;
  /** The agent turned its radio into a hotspot. */
  readonly isOfflineByHotspot = new Cell(false);
  /** Optional parts of the agent that fail, but did not fail with the version before. */
  readonly blamed = new Cell<readonly string[]>([]);
  /** As on Windows: the machine server ends with its agent, and nothing identifies a boot. */
  serverEndsWithAgent = false;
  /** Operator interface of the running agent. */
  operator: Operator | undefined;
  #powerLost: () => void = () => {};
  #agentStop = new AbortController();
  #stop = new AbortController();
  #service: Promise<void> | undefined;
  /** The previous run as the journal reports it. */
  #lastRun = noPreviousRun;

  constructor() {
    this.machine.isSupervisedBySystemd = true;
    this.machine.releases.chunkBytes = 512;
    this.machine.status = {
      restartAllowed: true,
      doesNotHandleNeedsRestart: true,
      maintenance: { allowed: true, reading: '' },
    };
    this.cloud.restartCheckMs = 60_000;
    for (const folder of ['bin', 'state', 'versions', 'cache', 'spool', 'log', 'server', 'units']) {
      this.machine.files.put(`${folder}/.keep`, new Uint8Array());
      this.machine.files.remove(`${folder}/.keep`);
    }
    this.setFate(() => 'ok');
    this.cloud.agentConfig.set({ advanced_settings: { agent_auto_restart: true } });
  }

  /** Publishes a release without making it desired. Returns its ID. */
  publish(program: Program, version: string, behaviour: Behaviour = 'good'): { id: string; use: () => void } {
    const name = behaviour === 'good' ? version : `${version}-${behaviour}`;
    const bytes =
      program === 'agent' ? agentBytes(name, 'linux/amd64', 'x'.repeat(1000)) : serverBytes(name, bodies[behaviour]);
    const url = `https://releases/${program}/${name}`;
    this.machine.releases.files.set(url, bytes);
    const sha256 = sha256Of(bytes);
    const info = { version: name, url, sha256, sizeBytes: BigInt(bytes.length), desired: 'stable' };
    const cell = program === 'agent' ? this.cloud.agentRelease : this.cloud.serverRelease;
    return { id: `${name}-${sha256.toString('hex').slice(0, 12)}`, use: () => cell.set(info) };
  }

  /** Installs the version and activates it, like the install command. */
  install(program: Program, id: string): void {
    const name = `platform-${program}`;
    const version = id.slice(0, -13);
    const bytes = this.machine.releases.files.get(`https://releases/${program}/${version}`)!;
    this.machine.files.put(`versions/${id}/${name}`, bytes);
    this.machine.files.put(`versions/${id}/sha256`, Buffer.from(`${sha256Of(bytes).toString('hex')}\n`));
    this.machine.files.putLink(`../versions/${id}/${name}`, `bin/${name}`);
    this.proven.add(id);
    if (program !== 'agent') return;
    this.machine.files.put(unitPath, Buffer.from(unitOf(id)), 0o644);
    this.machine.files.put('state/unit.written', Buffer.from(`${hashOfUnit(unitOf(id))}\n`), 0o644);
  }

  /** The unit by which systemd would start the agent. */
  unit(): string {
    return new TextDecoder().decode(this.machine.files.get(unitPath)?.bytes);
  }

  /** Calls `fate` before each step with its 1-based number. A power cut stops the whole machine. */
  setFate(fate: (step: Step, n: number) => Fate): void {
    let n = 0;
    this.machine.fate = (step) => {
      if (step.do === 'exec') this.#checkStart(step.path);
      if (step.do === 'unlink') this.#checkProof(step.path);
      const what = fate(step, ++n);
      if (what !== 'ok') this.cloud.report.set(undefined); // Earlier reports no longer count.
      if (typeof what === 'string' && what !== 'ok') this.#powerLost();
      return what;
    };
  }

  cutPower(): void {
    this.cloud.report.set(undefined);
    this.machine.cutPower();
    this.#powerLost();
  }

  /** Stops the agent and starts it again, like `systemctl restart`. */
  restartAgent(): void {
    this.#agentStop.abort(new Error('systemctl restart'));
  }

  power(): void {
    this.#service = this.#run(this.#stop.signal).catch((error: unknown) => {
      this.broken ??= `the rig: ${error instanceof Error ? error.stack : String(error)}`;
    });
  }

  async off(): Promise<void> {
    this.#stop.abort();
    this.machine.cutPower();
    this.#powerLost();
    await this.clock.settle();
    await this.#service;
  }

  /** ID of the version that bin/ points to. */
  inUse(program: Program): string {
    return this.machine.files.link(`bin/platform-${program}`)?.split('/')[2] ?? '';
  }

  /** No version is on trial, both versions are complete and run, one server runs, and the cloud has their report. */
  isWell(): boolean {
    const report = this.cloud.report.get();
    return (
      report?.serverState === ServerState.RUNNING &&
      this.#isNamed(report.agent?.runningVersion, 'agent') &&
      this.#isNamed(report.server?.runningVersion, 'server') &&
      report.agent?.trial === undefined &&
      report.server?.trial === undefined &&
      this.isWhole('agent') &&
      this.isWhole('server') &&
      (this.unitRefusal !== undefined || this.unit() === unitOf(this.inUse('agent'))) &&
      this.machine.files.get('state/unit.before') === undefined &&
      this.machine.processes.running.length === 1
    );
  }

  /** A build by URL is named by its hash. */
  #isNamed(shown: string | undefined, program: Program): boolean {
    const id = this.inUse(program);
    return shown === id.slice(0, -13) || (id.startsWith('customURL') && shown?.includes(id.slice(-12)) === true);
  }

  isWhole(program: Program): boolean {
    const id = this.inUse(program);
    const bytes = this.machine.files.get(`versions/${id}/platform-${program}`)?.bytes;
    return bytes !== undefined && id.endsWith(createHash('sha256').update(bytes).digest('hex').slice(0, 12));
  }

  /** Advances time until `isSo` holds; returns false on timeout. */
  async until(isSo: () => boolean, minutes: number, stepMs = 30_000): Promise<boolean> {
    const end = this.clock.now() + minutes * 60_000;
    while (!isSo() && this.broken === undefined && this.clock.now() < end) await this.clock.advance(stepMs);
    return isSo();
  }

  /** When a trial ends after its previous version was stored, the version in use was confirmed. */
  #checkProof(path: string): void {
    const name = /^state\/(platform-(?:agent|server))\.trial$/.exec(path)?.[1];
    if (name === undefined) return;
    const text = (file: string) => new TextDecoder().decode(this.machine.files.get(file)?.bytes);
    const [from, to = ''] = text(path).split(' ');
    if (from === text(`state/${name}.previous`).trim()) this.proven.add(to);
  }

  /** A version that has not passed the health check must not start without its start being counted. */
  #checkStart(path: string): void {
    const program = path.endsWith('platform-agent') ? 'agent' : 'server';
    const id = this.inUse(program);
    const trial = new TextDecoder().decode(this.machine.files.get(`state/platform-${program}.trial`)?.bytes);
    const [, to, starts] = trial.split(' ');
    if (this.proven.has(id) || (to === id && Number(starts) >= 1 && Number(starts) <= 3)) return;
    this.broken ??= `${id} starts untried; the trial says "${trial.trim()}"`;
  }

  /** Simulates systemd. */
  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      let isOut = false;
      const out = new Promise<'out'>((resolve) => {
        this.#powerLost = () => {
          isOut = true;
          resolve('out');
        };
      });
      for (;;) {
        const turn = await Promise.race([this.#start(signal), out]);
        if (turn === 'out' || isOut || signal.aborted) break;
        await Promise.race([this.clock.sleep(restartMs, signal), out]);
        if (isOut) break;
      }
      if (signal.aborted) return;
      await this.clock.settle();
      this.machine.restore(this.survivors);
      await this.clock.sleep(bootMs, signal);
    }
  }

  /** Runs the gate and one agent until it ends. */
  async #start(signal: AbortSignal): Promise<void> {
    const session = this.machine.session();
    if (this.serverEndsWithAgent) {
      session.device.runId = randomUUID();
      session.device.host.bootId = '';
    }
    const wall = Math.floor(this.clock.wall() / 1000);
    try {
      const outcome = await gate(session.device.files, 'agent', {
        nowSeconds: wall,
        boot: session.device.runId ?? session.device.host.bootId,
        isDoubtful: false,
        unit: { files: session.device.files, path: unitPath },
      });
      if (outcome !== 'normal') this.#tell(`gate ${outcome}`);
    } catch (error) {
      this.#tell(`gate failed: ${String(error)}`); // like ExecStartPre=-: a failure never stops the agent
    }
    const id = this.inUse('agent');
    if (!this.isWhole('agent')) {
      this.broken ??= `bin/platform-agent leads to ${id || 'nothing'}, which is not whole`;
      return;
    }
    const version = id.slice(0, -13);
    // Whatever step was cut or failed, the unit belongs to an installed version.
    if (!/^\[Unit\] of \S+ end$/.test(this.unit())) this.broken ??= `the unit says "${this.unit()}"`;
    this.starts.push(version);
    this.units.push([version, this.unit()]);
    try {
      await this.machine.step({ do: 'exec', path: 'bin/platform-agent' }, async () => {});
    } catch {
      return;
    }
    const before = this.#lastRun;
    if (version.endsWith('-crash')) {
      const lines = [`it hurts ${this.cloud.secret}`];
      // The journal has microsecond precision.
      this.#lastRun = { reason: 'exit 1', lines, words: [], atWall: this.clock.wall() + 0.737 };
      return;
    }
    if (version.endsWith('-hang')) {
      await this.clock.sleep(startLimitMs, signal);
      this.#lastRun = { reason: 'not ready in time; systemd ended it (signal SIGABRT)', lines: [], words: [] };
      return session.kill();
    }
    this.#lastRun = noPreviousRun;
    this.#agentStop = new AbortController();
    const { isOfflineByHotspot, blamed } = this;
    const layers = { commandLine: undefined, manufacturer: undefined, isFastStart: false };
    try {
      const how = await runAgent(
        {
          device: session.device,
          clock: session.clock,
          transport: version.endsWith('-mute') ? mute : this.cloud.transport(),
          credentials: {
            appAddress: 'https://cloud',
            partId: this.cloud.partId,
            entity: this.cloud.partId,
            type: 'robot-secret',
            payload: this.cloud.secret,
          },
          credentialsFile: () => '/etc/platform.json',
          root: '/opt/platform',
          layers,
          outer: { ...outerCells(layers), isOfflineByHotspot, blamed },
          version,
          selfId: id,
          runHistory: { bootId: session.device.host.bootId, previousRun: async () => before },
          unitPlace: {
            files: session.device.files,
            path: unitPath,
            gatePath: unitPath,
            own: unitOf(id),
            textOf: async (other) => unitOf(other),
            refusal: async () => this.unitRefusal,
            reload: async () => {},
          },
          sink: (line) => this.#tell(textOf(line)),
          control: (view) => void (this.operator = view.operator),
          random: () => 0.5,
          newId: randomUUID,
        },
        this.#agentStop.signal,
      );
      this.#tell(`agent ended: ${how}`);
    } catch (error) {
      this.#tell(`agent failed: ${String(error)}`);
    }
    session.kill();
    if (this.serverEndsWithAgent) this.machine.processes.endAll();
  }

  #tell(text: string): void {
    this.transcript.push(`${Math.round(this.clock.now() / 1000)} ${text}`);
  }
}

const textOf = ({ logger, message, fields }: LogLine): string =>
  `${logger} ${message} ${JSON.stringify(fields, (_, v: unknown) => (v instanceof Error ? v.message : typeof v === 'bigint' ? Number(v) : v))}`;

const down = () => Promise.reject(new ConnectError('no network', Code.Unavailable));
const mute = { unary: down, stream: down } as Transport;
