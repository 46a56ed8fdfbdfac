// A message bus with one service on it, for tests of clients on machines without dbus-daemon.
import { createServer, type Socket } from 'node:net';
import { once } from 'node:events';
import { encodeMessage, type Message, MessageReader, messageType } from '../src/os/linux/dbus/message.ts';
import type { DBusValue } from '../src/os/linux/dbus/values.ts';

/** What a call returns; an error has a name of D-Bus. */
export type Answer = { signature: string; body: readonly DBusValue[] } | { error: string; text: string };

const bus = 'org.freedesktop.DBus';
const nothing: Answer = { signature: '', body: [] };
const service = ':1.1';

interface Client {
  socket: Socket;
  rules: ReadonlyMap<string, string>[];
}

export class ScriptedBus implements AsyncDisposable {
  readonly address: string;
  readonly #name: string;
  readonly #answer: (call: Message) => Promise<Answer> | Answer;
  readonly #clients = new Set<Client>();
  readonly #server = createServer((socket) => this.#serve(socket));
  /** Signals that clients sent. */
  readonly received: Message[] = [];
  readonly #replies = new Map<number, (reply: Message) => void>();
  #isOwned = true;
  #serial = 0;

  constructor(folder: string, name: string, answer: (call: Message) => Promise<Answer> | Answer) {
    this.address = `${folder}/bus`;
    this.#name = name;
    this.#answer = answer;
  }

  async listen(): Promise<void> {
    this.#server.listen(this.address);
    await once(this.#server, 'listening');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.drop();
    this.#server.close();
    await once(this.#server, 'close');
  }

  /** Ends all connections, as a bus that is restarted. */
  drop(): void {
    for (const { socket } of this.#clients) socket.destroy();
    this.#clients.clear();
  }

  /** The service appears on the bus, or leaves it. */
  setOwned(isOwned: boolean): void {
    if (this.#isOwned === isOwned) return;
    this.#isOwned = isOwned;
    const body = [this.#name, isOwned ? '' : service, isOwned ? service : ''];
    this.#signal({ path: '/org/freedesktop/DBus', interface: bus, member: 'NameOwnerChanged' }, 'sss', body, bus);
  }

  emit(path: string, of: string, member: string, signature: string, body: readonly DBusValue[]): void {
    if (this.#isOwned) this.#signal({ path, interface: of, member }, signature, body, service);
  }

  /** A signal of another process that is addressed to every client, as anybody may send. */
  forge(path: string, of: string, member: string, signature: string, body: readonly DBusValue[]): void {
    for (const { socket } of this.#clients)
      socket.write(this.#encoded({ path, interface: of, member }, signature, body, ':1.66'));
  }

  /** Calls an object of the client that connected last, as the service or as another process. */
  call(
    where: { path: string; interface: string; member: string },
    signature: string,
    body: readonly DBusValue[],
    sender = service,
  ): Promise<Message> {
    const serial = ++this.#serial;
    const client = [...this.#clients].at(-1);
    return new Promise((resolve, reject) => {
      if (!client) return reject(new Error('there is no client'));
      this.#replies.set(serial, resolve);
      client.socket.write(encodeMessage({ type: messageType.call, serial, ...where, sender, signature, body }));
    });
  }

  #signal(
    where: Pick<Message, 'path' | 'interface' | 'member'>,
    signature: string,
    body: readonly DBusValue[],
    sender: string,
  ): void {
    for (const { socket, rules } of this.#clients) {
      const isWanted = rules.some((rule) =>
        [...rule].every(([key, value]) => {
          if (key === 'type') return value === 'signal';
          if (key === 'sender') return value === sender || (value === this.#name && sender === service);
          if (key === 'arg0') return value === body[0];
          return where[key as 'path'] === value;
        }),
      );
      if (isWanted) socket.write(this.#encoded(where, signature, body, sender));
    }
  }

  #encoded(
    where: Pick<Message, 'path' | 'interface' | 'member'>,
    signature: string,
    body: readonly DBusValue[],
    sender: string,
  ): Buffer {
    return encodeMessage({ type: messageType.signal, serial: ++this.#serial, ...where, sender, signature, body });
  }

  #serve(socket: Socket): void {
    const client: Client = { socket, rules: [] };
    const messages = new MessageReader();
    let isGreeted = false;
    socket.on('error', () => {});
    socket.on('close', () => this.#clients.delete(client));
    socket.on('data', (bytes: Buffer) => {
      let rest = bytes;
      if (!isGreeted) {
        const text = bytes.toString('latin1');
        if (text.startsWith('\0AUTH EXTERNAL ')) socket.write('OK 0123456789abcdef0123456789abcdef\r\n');
        const begin = text.indexOf('BEGIN\r\n');
        if (begin < 0) return;
        isGreeted = true;
        this.#clients.add(client);
        rest = bytes.subarray(begin + 7);
      }
      for (const message of messages.push(rest)) this.#take(client, message);
    });
  }

  #take(client: Client, message: Message): void {
    if (message.type === messageType.call) void this.#reply(client, message);
    else if (message.type === messageType.signal) this.received.push(message);
    else this.#replies.get(message.replySerial ?? 0)?.(message);
  }

  async #reply(client: Client, call: Message): Promise<void> {
    const answer = call.destination === bus ? this.#ofBus(client, call) : await this.#ofService(call);
    const about = {
      serial: ++this.#serial,
      replySerial: call.serial,
      sender: call.destination === bus ? bus : service,
    };
    const message =
      'error' in answer
        ? { type: messageType.error, errorName: answer.error, signature: 's', body: [answer.text] }
        : { type: messageType.reply, ...answer };
    if (!client.socket.destroyed) client.socket.write(encodeMessage({ ...about, ...message }));
  }

  #ofService(call: Message): Promise<Answer> | Answer {
    if (!this.#isOwned || call.destination !== this.#name)
      return { error: `${bus}.Error.ServiceUnknown`, text: 'no such name' };
    return this.#answer(call);
  }

  #ofBus(client: Client, { member, body }: Message): Answer {
    const [text] = body;
    switch (member) {
      case 'Hello':
        return { signature: 's', body: [':1.9'] };
      case 'AddMatch':
        client.rules.push(
          new Map([...String(text).matchAll(/(\w+)='([^']*)'/g)].map(([, key = '', value = '']) => [key, value])),
        );
        return nothing;
      case 'GetNameOwner':
        if (text === this.#name && this.#isOwned) return { signature: 's', body: [service] };
        return { error: `${bus}.Error.NameHasNoOwner`, text: 'the name has no owner' };
      default:
        return nothing;
    }
  }
}
