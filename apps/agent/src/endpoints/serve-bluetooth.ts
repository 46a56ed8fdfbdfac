import { generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import {
  type BluetoothReadable,
  bluetoothUuids,
  type BluetoothWritable,
  improvUuids,
} from '@platform/contract/provisioning/bluetooth';
import type { Clock } from '@platform/kit';
import type { WriteRefusal } from '../os/bluetooth-port.ts';
import type { ProvisioningView, ToEndpoints } from '../network/endpoints/provisioning-view.ts';
import { submissionProblem } from '../network/endpoints/submission.ts';
import { GattProvisioning, GattRefusal } from './gatt-provisioning.ts';
import { ImprovCommands, improvCapabilities, improvError, improvServiceData, improvState } from './improv.ts';
import { agentPipe, type AgentPipe } from './agent-pipe.ts';

/** The process that reads what Bluetooth clients write, without root: until the agent closes its input. */
export async function serveBluetooth(of: {
  input: AsyncIterable<Buffer>;
  say: (line: string) => void;
  clock: Clock;
}): Promise<void> {
  let hotspotPassword = '';
  let endpoint: BluetoothEndpoint | undefined;
  const received = (message: ToEndpoints): void => {
    if (message.is === 'hotspotPassword') hotspotPassword = message.password;
    if (message.is !== 'write') return;
    const answer = endpoint?.write(message) ?? 'Failed';
    pipe.tell({ is: 'written', id: message.id, answer });
  };
  const pipe = agentPipe({ ...of, received });
  const over = pipe.run();
  const made = promisify(generateKeyPair)('rsa', { modulusLength: 2048 });
  await Promise.race([pipe.view.get() ? undefined : pipe.view.changed(), over]);
  const { privateKey } = await made;
  const view = pipe.view.get();
  if (!view) return; // the agent has ended before
  const values = (changed: Record<string, string>): void => pipe.tell({ is: 'values', values: changed });
  endpoint = new BluetoothEndpoint({ pipe, view, privateKey, hotspotPassword, values, clock: of.clock });
  pipe.ready();
  const stop = new AbortController();
  const following = endpoint.follow(stop.signal);
  await over;
  stop.abort();
  await following;
}

interface Parts {
  pipe: AgentPipe;
  view: ProvisioningView;
  privateKey: KeyObject;
  hotspotPassword: string;
  /** Sends what clients read from now on, in base64 by UUID. */
  values: (changed: Record<string, string>) => void;
  clock: Clock;
}

const mostClients = 8;
/** A client sends the parts of a command at once. */
const commandMs = 10_000;

/** Both services: what they read, and what a write does. */
class BluetoothEndpoint {
  readonly #parts: Parts;
  readonly #gatt: GattProvisioning;
  /** The last values that were sent. */
  readonly #sent = new Map<string, string>();
  readonly #improv = new Map<string, { commands: ImprovCommands; at: number }>();
  #improvError: number | undefined;
  #improvResult: Uint8Array = new Uint8Array(0);

  constructor(parts: Parts) {
    this.#parts = parts;
    const { pipe, privateKey, hotspotPassword, clock } = parts;
    this.#gatt = new GattProvisioning({
      view: () => this.#view(),
      active: () => pipe.active(),
      handOver: async (submission) => {
        const problem = submissionProblem(submission);
        if (problem !== undefined) return problem;
        const answer = await pipe.submit(submission);
        return answer.ok ? '' : answer.text;
      },
      changed: () => this.#send(),
      privateKey,
      hotspotPassword,
      clock,
    });
    this.#send();
  }

  async follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#parts.pipe.view.changed(signal);
      this.#improvError = undefined;
      this.#send();
    }
  }

  write({ uuid, value, client }: { uuid: string; value: string; client: string }): WriteRefusal | 'ok' {
    const bytes = Buffer.from(value, 'base64');
    if (uuid === improvUuids.command) return this.#command(bytes, client);
    const [name] = Object.entries(bluetoothUuids.writable).find(([, one]) => one === uuid) ?? [];
    if (name === undefined) return 'Failed';
    try {
      this.#gatt.write(name as BluetoothWritable, bytes);
      return 'ok';
    } catch (error) {
      if (error instanceof GattRefusal) return error.code;
      throw error;
    }
  }

  /** Not the activity of a user: anybody in range may send commands of Improv. */
  #command(bytes: Uint8Array, client: string): 'ok' {
    const now = this.#parts.clock.now();
    const before = this.#improv.get(client);
    const commands = before && now - before.at < commandMs ? before.commands : new ImprovCommands();
    this.#improv.delete(client);
    if (this.#improv.size >= mostClients) this.#improv.clear();
    this.#improv.set(client, { commands, at: now });
    const answer = commands.write(bytes, this.#view());
    if (!answer) return 'ok';
    this.#improvError = answer.error;
    if (answer.result) this.#improvResult = answer.result;
    this.#send();
    return 'ok';
  }

  #view(): ProvisioningView {
    return this.#parts.pipe.view.get() ?? this.#parts.view;
  }

  #send(): void {
    const view = this.#view();
    const names = Object.entries(bluetoothUuids.readable) as [BluetoothReadable, string][];
    const values: [uuid: string, value: Uint8Array][] = [
      ...names.map(([name, uuid]) => [uuid, this.#gatt.read(name)] as [string, Uint8Array]),
      [improvUuids.state, Uint8Array.of(improvState(view))],
      [improvUuids.error, Uint8Array.of(this.#improvError ?? improvError(view))],
      [improvUuids.capabilities, Uint8Array.of(improvCapabilities)],
      [improvUuids.result, this.#improvResult],
      [improvUuids.data, improvServiceData(view)],
    ];
    const changed = values
      .map(([uuid, value]) => [uuid, Buffer.from(value).toString('base64')] as const)
      .filter(([uuid, text]) => this.#sent.get(uuid) !== text);
    if (changed.length === 0) return;
    for (const [uuid, text] of changed) this.#sent.set(uuid, text);
    this.#parts.values(Object.fromEntries(changed));
  }
}
