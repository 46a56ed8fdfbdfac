// The only file with foreign functions, for what the standard library lacks. They exist in the compiled program only.
// Addresses and lengths that are passed always belong to arrays allocated here.

const unixFamily = 1;
const datagram = 2;
const closeOnExec = 0x80000;
const noSignal = 0x4000;
const dontWait = 0x40;
/** Size of sun_path in sockaddr_un. */
const longestPath = 108;

/**
 * Sends texts to a Unix datagram socket, each as one datagram.
 *
 * @param address - a path, or the name of an abstract socket after `@`.
 * @returns a function that sends without blocking and returns whether the text was sent.
 * @throws Error if the address is invalid.
 */
export async function datagramsTo(address: string): Promise<(text: string) => boolean> {
  const { dlopen, ptr } = await import('bun:ffi'); // not at the top: this file also loads under another runtime
  const target = socketAddress(address);
  const { symbols: c } = dlopen('libc.so.6', {
    socket: { args: ['i32', 'i32', 'i32'], returns: 'i32' },
    sendto: { args: ['i32', 'ptr', 'u64', 'i32', 'ptr', 'u32'], returns: 'i64' },
  });
  const socket = Number(c.socket(unixFamily, datagram | closeOnExec, 0));
  if (socket < 0) throw new Error('a datagram socket cannot be made');
  return (text) => {
    const bytes = Buffer.from(text);
    const flags = noSignal | dontWait;
    const sent = c.sendto(socket, ptr(bytes), bytes.length, flags, ptr(target), target.length);
    return Number(sent) === bytes.length;
  };
}

/** sockaddr_un of a path, or of the name of an abstract socket after `@`. */
function socketAddress(address: string): Buffer {
  const path = Buffer.from(address);
  const isAbstract = path[0] === 0x40;
  if (path.length === 0 || path.length >= longestPath) throw new Error(`${address} is not a valid socket address`);
  if (isAbstract) path[0] = 0; // "@" represents the leading NUL of an abstract name
  return Buffer.concat([Buffer.from([unixFamily, 0]), path, Buffer.from(isAbstract ? [] : [0])]);
}

const stream = 1;
const nonBlocking = 0x800;

/** A connected stream socket as a file, which `pipeReader` reads. */
export interface StreamFile {
  file: number;
  /** @returns how many of the bytes were sent, without blocking */
  send(bytes: Uint8Array): number;
}

/**
 * Connects to Unix stream sockets. A `Socket` would start this runtime's timers for sockets, which wake the processor.
 *
 * @returns a function that connects to a path, or to the name of an abstract socket after `@`. It throws an Error if
 * no process listens there.
 */
export async function streamConnector(): Promise<(address: string) => StreamFile> {
  const { dlopen, ptr } = await import('bun:ffi');
  const { symbols: c } = dlopen('libc.so.6', {
    socket: { args: ['i32', 'i32', 'i32'], returns: 'i32' },
    connect: { args: ['i32', 'ptr', 'u32'], returns: 'i32' },
    close: { args: ['i32'], returns: 'i32' },
    send: { args: ['i32', 'ptr', 'u64', 'i32'], returns: 'i64' },
  });
  return (address) => {
    const target = socketAddress(address);
    const file = Number(c.socket(unixFamily, stream | closeOnExec | nonBlocking, 0));
    if (file < 0) throw new Error('a socket cannot be made');
    if (Number(c.connect(file, ptr(target), target.length)) !== 0) {
      c.close(file);
      throw new Error(`nothing accepts connections at ${address}`);
    }
    return {
      file,
      send: (bytes) => Math.max(0, Number(c.send(file, ptr(bytes), bytes.length, noSignal | dontWait))),
    };
  };
}

const netlinkFamily = 16;
const raw = 3;
const generic = 16;
const answerBytes = 64 * 1024;
/** The kernel answers a list in parts; more than this many are an error. */
const mostAnswers = 1_000;

/** Sends a request to the kernel and returns its answers, one after the other, until `isLast`. @throws Error */
export type KernelExchange = (request: Uint8Array, isLast: (answer: Uint8Array) => boolean) => readonly Uint8Array[];

/** Generic netlink, by which the kernel configures its parts. The kernel answers during the call: nothing blocks. */
export async function genericNetlink(): Promise<KernelExchange> {
  const { dlopen, ptr } = await import('bun:ffi');
  const { symbols: c } = dlopen('libc.so.6', {
    socket: { args: ['i32', 'i32', 'i32'], returns: 'i32' },
    send: { args: ['i32', 'ptr', 'u64', 'i32'], returns: 'i64' },
    recv: { args: ['i32', 'ptr', 'u64', 'i32'], returns: 'i64' },
    close: { args: ['i32'], returns: 'i32' },
  });
  return (request, isLast) => {
    const socket = Number(c.socket(netlinkFamily, raw | closeOnExec, generic));
    if (socket < 0) throw new Error('the kernel has no generic netlink');
    try {
      if (Number(c.send(socket, ptr(request), request.length, dontWait)) !== request.length)
        throw new Error('the kernel does not take the request');
      const answers: Uint8Array[] = [];
      while (answers.length < mostAnswers) {
        const answer = new Uint8Array(answerBytes);
        const size = Number(c.recv(socket, ptr(answer), answer.length, dontWait));
        if (size <= 0) throw new Error('the kernel does not answer');
        answers.push(answer.subarray(0, size));
        if (isLast(answer.subarray(0, size))) return answers;
      }
      throw new Error('the kernel answers without end');
    } finally {
      c.close(socket);
    }
  };
}

const setPipeSize = 1031;

/** Enlarges the buffer of a pipe, so that a writer blocks later while the reader is not scheduled. */
export async function growPipe(file: number, bytes: number): Promise<void> {
  const { dlopen } = await import('bun:ffi');
  const { symbols: c } = dlopen('libc.so.6', { fcntl: { args: ['i32', 'i32', 'i32'], returns: 'i32' } });
  c.fcntl(file, setPipeSize, bytes);
}

/** A reader by the event loop; undefined under another runtime. A `Socket` would start this one's timers for sockets. */
export const pipeReader = (file: number): ReadableStreamDefaultReader<Uint8Array> | undefined => {
  const { Bun } = globalThis as { Bun?: { file(fd: number): { stream(): ReadableStream<Uint8Array> } } };
  return Bun?.file(file).stream().getReader();
};

/** A range of this process's memory. */
export interface MemoryRange {
  start: bigint;
  bytes: bigint;
}

const dontNeed = 4;
const pageOut = 21;

/**
 * Drops the pages of these ranges. They must be file-backed and never written: such a page is read from the file again;
 * any other would become zeros.
 *
 * @returns whether the kernel did it for all ranges.
 */
export const forgetPages = (ranges: readonly MemoryRange[]): Promise<boolean> => advise(ranges, dontNeed);

/**
 * Asks the kernel to reclaim pages of these ranges. No data is lost: a written page is swapped out, or stays.
 *
 * @returns whether the kernel did it for all ranges; kernels before Linux 5.4 do not.
 */
export const takeBackPages = (ranges: readonly MemoryRange[]): Promise<boolean> => advise(ranges, pageOut);

async function advise(ranges: readonly MemoryRange[], advice: number): Promise<boolean> {
  const { dlopen } = await import('bun:ffi');
  const { symbols: c } = dlopen('libc.so.6', { madvise: { args: ['u64', 'u64', 'i32'], returns: 'i32' } });
  return ranges.map(({ start, bytes }) => Number(c.madvise(start, bytes, advice)) === 0).every(Boolean);
}
