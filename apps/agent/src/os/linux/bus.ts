import { Cell, type Clock, errorText, type Log, within } from '@platform/kit';
import { encodeMessage, type Message, MessageReader, messageType } from './dbus-message.ts';
import type { DBusValue } from './dbus-values.ts';
import { type ByteStream, type OpenStream, streamOpener } from './unix-stream.ts';

/** `code`: the name of the error in D-Bus, for example org.freedesktop.DBus.Error.ServiceUnknown. */
export class BusError extends Error {
  readonly code: string;
  constructor(code: string, text: string) {
    super(text === '' ? code : text);
    this.name = 'BusError';
    this.code = code;
  }
}

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

export interface Call {
  path: string;
  interface: string;
  member: string;
  signature?: string;
  args?: readonly DBusValue[];
  /** Default 10 s. */
  limitMs?: number;
}

/** A service on the bus, by its well-known name. */
export interface Peer {
  /** Unique name of its process; empty: no process has the name, or there is no connection; undefined: not known yet. */
  readonly owner: Cell<string | undefined>;
  /** Starts no service. @throws BusError; TimeoutError */
  call(call: Call): Promise<readonly DBusValue[]>;
  /** Signals of this service only, over reconnections, too. @returns a function that ends it */
  watch(rule: SignalRule, handler: (signal: Signal) => void): () => void;
}

export interface Bus {
  peer(name: string): Peer;
  /** Holds the connection; connects again after 1 to 30 s when it ends. */
  run(signal: AbortSignal): Promise<void>;
}

const busName = 'org.freedesktop.DBus';
const ofBus = { path: '/org/freedesktop/DBus', interface: busName };
const defaultLimitMs = 10_000;
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

/** One connection, from the greeting to its end. */
class Connection {
  readonly #stream: ByteStream;
  readonly #waiting = new Map<number, { resolve: (message: Message) => void; reject: (error: Error) => void }>();
  readonly #onSignal: (message: Message) => void;
  #serial = 0;

  constructor(stream: ByteStream, onSignal: (message: Message) => void) {
    this.#stream = stream;
    this.#onSignal = onSignal;
  }

  /** Reads until the connection ends. `ready` is called after the authentication. */
  async read(ready: () => void): Promise<void> {
    const messages = new MessageReader();
    let greeting: string | undefined = '';
    this.#stream.send(
      Buffer.from(`\0AUTH EXTERNAL ${Buffer.from(String(process.getuid?.() ?? 0)).toString('hex')}\r\n`),
    );
    try {
      for await (const bytes of this.#stream.received) {
        if (greeting === undefined) {
          for (const message of messages.push(bytes)) this.#receive(message);
          continue;
        }
        greeting += Buffer.from(bytes).toString('latin1');
        if (greeting.length > 1000) throw new Error('the bus does not greet');
        if (!greeting.endsWith('\r\n')) continue;
        if (!greeting.startsWith('OK ')) throw new Error(`the bus refuses this process: ${greeting.trim()}`);
        greeting = undefined;
        this.#stream.send(Buffer.from('BEGIN\r\n'));
        ready();
      }
    } finally {
      this.#stream.close();
      const error = new BusError(`${busName}.Error.Disconnected`, 'the connection to the bus has ended');
      for (const { reject } of this.#waiting.values()) reject(error);
      this.#waiting.clear();
    }
  }

  close(): void {
    this.#stream.close();
  }

  async call(destination: string, call: Call, clock: Clock): Promise<readonly DBusValue[]> {
    const { path, interface: of, member, signature = '', args = [], limitMs = defaultLimitMs } = call;
    const serial = ++this.#serial;
    const bytes = encodeMessage({
      type: messageType.call,
      serial,
      destination,
      path,
      interface: of,
      member,
      signature,
      body: args,
    });
    try {
      const reply = await within(limitMs, { what: `${of}.${member}`, clock }, () => {
        return new Promise<Message>((resolve, reject) => {
          this.#waiting.set(serial, { resolve, reject });
          this.#stream.send(bytes);
        });
      });
      if (reply.type === messageType.reply) return reply.body;
      const [text] = reply.body;
      throw new BusError(reply.errorName ?? '', typeof text === 'string' ? text : '');
    } finally {
      this.#waiting.delete(serial);
    }
  }

  #receive(message: Message): void {
    if (message.type === messageType.signal) return this.#onSignal(message);
    if (message.type !== messageType.reply && message.type !== messageType.error) return; // no process calls the agent
    this.#waiting.get(message.replySerial ?? 0)?.resolve(message);
  }
}

/** A client of the bus at an address list of D-Bus. Nothing happens before `run`. */
export function createBus(of: { address: string; clock: Clock; log: Log }): Bus {
  return new ReconnectingBus(of);
}

class ReconnectingBus implements Bus {
  readonly #address: string;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #peers = new Map<string, Cell<string | undefined>>();
  readonly #watches = new Set<Watch>();
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
    const connection = new Connection(stream, (message) => this.#dispatch(message));
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
}
