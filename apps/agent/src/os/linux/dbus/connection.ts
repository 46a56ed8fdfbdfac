import { type Clock, within } from '@platform/kit';
import { encodeMessage, type Message, MessageReader, messageType } from './message.ts';
import type { DBusValue } from './values.ts';
import type { ByteStream } from '../kernel/unix-stream.ts';

export const busName = 'org.freedesktop.DBus';
const defaultLimitMs = 10_000;

/** `code`: the name of the error in D-Bus, for example org.freedesktop.DBus.Error.ServiceUnknown. */
export class BusError extends Error {
  readonly code: string;
  constructor(code: string, text: string) {
    super(text === '' ? code : text);
    this.name = 'BusError';
    this.code = code;
  }
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

/** What the caller gets: a reply or an error. */
export type Outcome = Pick<Message, 'type' | 'errorName' | 'signature' | 'body'>;

/** One connection, from the greeting to its end. */
export class Connection {
  readonly #stream: ByteStream;
  readonly #onCall: (message: Message) => Promise<Outcome>;
  readonly #waiting = new Map<number, { resolve: (message: Message) => void; reject: (error: Error) => void }>();
  readonly #onSignal: (message: Message) => void;
  #serial = 0;

  constructor(
    stream: ByteStream,
    on: { signal: (message: Message) => void; call: (message: Message) => Promise<Outcome> },
  ) {
    this.#stream = stream;
    this.#onSignal = on.signal;
    this.#onCall = on.call;
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
    if (message.type === messageType.call) return void this.#answer(message);
    if (message.type !== messageType.reply && message.type !== messageType.error) return;
    this.#waiting.get(message.replySerial ?? 0)?.resolve(message);
  }

  async #answer(call: Message): Promise<void> {
    const outcome = await this.#onCall(call);
    if (call.isReplyUnwanted) return;
    this.send({ ...outcome, replySerial: call.serial, ...(call.sender !== undefined && { destination: call.sender }) });
  }

  send(message: Omit<Message, 'serial'>): void {
    this.#stream.send(encodeMessage({ ...message, serial: ++this.#serial }));
  }
}
