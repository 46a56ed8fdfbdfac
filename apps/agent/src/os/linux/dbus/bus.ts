import { Cell, type Clock, errorText, type Log } from '@platform/kit';
import { BusError, busName, type Call, Connection, type Outcome } from './connection.ts';
import { type Message, messageType } from './message.ts';
import type { DBusValue } from './values.ts';
import { type ByteStream, type OpenStream, streamOpener } from '../kernel/unix-stream.ts';

export interface Signal {
  path: string;
  interface: string;
  member: string;
  body: readonly DBusValue[];
}

/** Absent fields match everything. */
export interface SignalRule {
  path?: string;
  interface?: string;
  member?: string;
  /** First value of the signal, if it is a string. */
  arg0?: string;
}

/** A call that a service made. */
export interface IncomingCall {
  path: string;
  interface: string;
  member: string;
  body: readonly DBusValue[];
}

export interface Reply {
  signature: string;
  body: readonly DBusValue[];
}

/** @throws BusError, whose code the caller gets */
export type CallHandler = (call: IncomingCall) => Promise<Reply> | Reply;

export interface OutgoingSignal extends Signal {
  signature: string;
}

/** A service on the bus, by its well-known name. */
export interface Peer {
  /** Unique name of its process; empty: no process has the name, or there is no connection; undefined: not known yet. */
  readonly owner: Cell<string | undefined>;
  /** Starts no service. @throws BusError; TimeoutError */
  call(call: Call): Promise<readonly DBusValue[]>;
  /** Signals of this service only, over reconnections, too. @returns a function that ends it */
  watch(rule: SignalRule, handler: (signal: Signal) => void): () => void;
  /** Answers calls of this service only, one handler at a time. @returns a function that ends it */
  answer(handler: CallHandler): () => void;
  /** Sends a signal to this service alone; it is lost while there is none. */
  tell(signal: OutgoingSignal): void;
}

export interface Bus {
  peer(name: string): Peer;
  /** Holds the connection; connects again after 1 to 30 s when it ends. */
  run(signal: AbortSignal): Promise<void>;
}

const ofBus = { path: '/org/freedesktop/DBus', interface: busName };
const firstRetryMs = 1_000;
const longestRetryMs = 30_000;

/** @returns paths, or names of abstract sockets after `@`, of an address list of D-Bus; other transports are left out. */
function socketsOf(addresses: string): string[] {
  return addresses.split(';').flatMap((address) => {
    const [, options = ''] = /^unix:(.*)$/.exec(address) ?? [];
    return options.split(',').flatMap((option) => {
      const [, key, value = ''] = /^(path|abstract)=(.*)$/.exec(option) ?? [];
      if (key === undefined) return [];
      return [`${key === 'abstract' ? '@' : ''}${decodeURIComponent(value)}`];
    });
  });
}

/** The system bus of this machine, or the one that the environment names. */
export const systemBusAddress = (env: Readonly<Record<string, string | undefined>>): string =>
  env['DBUS_SYSTEM_BUS_ADDRESS'] ?? 'unix:path=/run/dbus/system_bus_socket';

interface Watch {
  peer: string;
  rule: SignalRule;
  handler: (signal: Signal) => void;
}

const failed = (code: string, text: string): Outcome => ({
  type: messageType.error,
  errorName: code,
  signature: 's',
  body: [text],
});

/** A client of the bus at an address list of D-Bus. Nothing happens before `run`. Decision 0048. */
export function createBus(of: { address: string; clock: Clock; log: Log }): Bus {
  return new ReconnectingBus(of);
}

class ReconnectingBus implements Bus {
  readonly #address: string;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #peers = new Map<string, Cell<string | undefined>>();
  readonly #watches = new Set<Watch>();
  /** By the name of the service whose calls it answers. */
  readonly #handlers = new Map<string, CallHandler>();
  #connection: Connection | undefined;

  constructor({ address, clock, log }: { address: string; clock: Clock; log: Log }) {
    this.#address = address;
    this.#clock = clock;
    this.#log = log;
  }

  peer(name: string): Peer {
    const owner = this.#peers.get(name) ?? new Cell<string | undefined>(undefined);
    if (!this.#peers.has(name)) {
      this.#peers.set(name, owner);
      void this.#follow(name);
    }
    return {
      owner,
      call: (call) => this.#call(name, call),
      watch: (rule, handler) => {
        const watch = { peer: name, rule, handler };
        this.#watches.add(watch);
        this.#match('AddMatch', watch);
        return () => {
          if (this.#watches.delete(watch)) this.#match('RemoveMatch', watch);
        };
      },
      answer: (handler) => {
        this.#handlers.set(name, handler);
        return () => {
          if (this.#handlers.get(name) === handler) this.#handlers.delete(name);
        };
      },
      tell: (signal) => {
        const destination = owner.get() ?? '';
        if (destination !== '') this.#connection?.send({ type: messageType.signal, destination, ...signal });
      },
    };
  }

  async run(signal: AbortSignal): Promise<void> {
    const open = await streamOpener(this.#clock);
    let lastError = '';
    for (let retryMs = firstRetryMs; !signal.aborted;) {
      try {
        await this.#once(open, signal, () => {
          retryMs = firstRetryMs;
          lastError = '';
        });
      } catch (error) {
        for (const owner of this.#peers.values()) owner.set('');
        // Once for each reason: without a bus this repeats for ever.
        if (errorText(error) !== lastError && !signal.aborted) {
          lastError = errorText(error);
          this.#log.info('no connection to the system bus', { reason: lastError });
        }
      }
      await this.#clock.sleep(retryMs, signal);
      retryMs = Math.min(retryMs * 2, longestRetryMs);
    }
  }

  async #once(open: OpenStream, signal: AbortSignal, connected: () => void): Promise<void> {
    const stream = await this.#open(open);
    const connection = new Connection(stream, {
      signal: (message) => this.#dispatch(message),
      call: (message) => this.#answer(message),
    });
    const stop = (): void => connection.close();
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    try {
      await connection.read(() => {
        this.#connection = connection;
        connected();
        this.#greet();
      });
      throw new Error('the bus has closed the connection');
    } finally {
      signal.removeEventListener('abort', stop);
      this.#connection = undefined;
    }
  }

  async #open(open: OpenStream): Promise<ByteStream> {
    const sockets = socketsOf(this.#address);
    let last: unknown = new Error(`${this.#address} names no Unix socket`);
    for (const socket of sockets) {
      try {
        return await open(socket);
      } catch (error) {
        last = error;
      }
    }
    throw last;
  }

  #greet(): void {
    this.#quietly({ ...ofBus, member: 'Hello' });
    for (const watch of this.#watches) this.#match('AddMatch', watch);
    for (const name of this.#peers.keys()) void this.#follow(name);
  }

  /** Keeps the owner of a name: first its changes, then its present value, so that none is missed. */
  async #follow(name: string): Promise<void> {
    if (!this.#connection) return;
    const rule = `type='signal',sender='${busName}',interface='${busName}',member='NameOwnerChanged',arg0='${name}'`;
    this.#quietly({ ...ofBus, member: 'AddMatch', signature: 's', args: [rule] });
    try {
      const [owner] = await this.#call(busName, { ...ofBus, member: 'GetNameOwner', signature: 's', args: [name] });
      if (typeof owner === 'string') this.#peers.get(name)?.set(owner);
    } catch {
      this.#peers.get(name)?.set(''); // the name has no owner
    }
  }

  #match(member: 'AddMatch' | 'RemoveMatch', { peer, rule }: Watch): void {
    const fields = Object.entries({ type: 'signal', sender: peer, ...rule });
    const text = fields.map(([key, value]) => `${key}='${value}'`).join(',');
    if (this.#connection) this.#quietly({ ...ofBus, member, signature: 's', args: [text] });
  }

  #quietly(call: Call): void {
    this.#call(busName, call).catch((error: unknown) =>
      this.#log.debug('a call to the system bus failed', { call: call.member, reason: errorText(error) }),
    );
  }

  #call(destination: string, call: Call): Promise<readonly DBusValue[]> {
    if (this.#connection) return this.#connection.call(destination, call, this.#clock);
    return Promise.reject(new BusError(`${busName}.Error.Disconnected`, 'there is no connection to the system bus'));
  }

  #dispatch(message: Message): void {
    const { path = '', interface: of = '', member = '', sender = '', body } = message;
    if (sender === busName && member === 'NameOwnerChanged') {
      const [name, , owner] = body;
      if (typeof name === 'string' && typeof owner === 'string') this.#peers.get(name)?.set(owner);
    }
    for (const { peer, rule, handler } of this.#watches) {
      // Any process may send a signal to this one: only the owner of the name counts.
      if (sender === '' || this.#peers.get(peer)?.get() !== sender) continue;
      if (rule.path !== undefined && rule.path !== path) continue;
      if (rule.interface !== undefined && rule.interface !== of) continue;
      if (rule.member !== undefined && rule.member !== member) continue;
      if (rule.arg0 !== undefined && rule.arg0 !== body[0]) continue;
      handler({ path, interface: of, member, body });
    }
  }

  /** A call of any process; only the service that a handler is for gets more than an error. */
  async #answer({ path = '', interface: of = '', member = '', sender = '', body }: Message): Promise<Outcome> {
    const [name = ''] = [...this.#peers].find(([, owner]) => sender !== '' && owner.get() === sender) ?? [];
    const handler = this.#handlers.get(name);
    if (!handler) return failed(`${busName}.Error.AccessDenied`, 'this process answers no calls of yours');
    try {
      return { type: messageType.reply, ...(await handler({ path, interface: of, member, body })) };
    } catch (error) {
      if (error instanceof BusError) return failed(error.code, error.message);
      this.#log.warn('a call of a service failed', { member, reason: errorText(error) });
      return failed(`${busName}.Error.Failed`, 'the call failed');
    }
  }
}
