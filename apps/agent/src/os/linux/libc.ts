// The only file with foreign functions: what the standard library lacks. They exist in the compiled program alone. Addresses
// and lengths that are passed on are always those of arrays made here.

const unixFamily = 1;
const datagram = 2;
const closeOnExec = 0x80000;
const noSignal = 0x4000;
const dontWait = 0x40;
/** sun_path of sockaddr_un. */
const longestPath = 108;

/**
 * Sends texts to a unix datagram socket, each as one datagram.
 *
 * @param address - a path, or the name of an abstract socket after `@`.
 * @returns whether the text was sent; it never waits.
 * @throws Error for an address that cannot be one.
 */
export async function datagramsTo(address: string): Promise<(text: string) => boolean> {
  const { dlopen, ptr } = await import('bun:ffi'); // not at the top: under another runtime this file loads, too
  const path = Buffer.from(address);
  const isAbstract = path[0] === 0x40;
  if (path.length === 0 || path.length >= longestPath) throw new Error(`${address} is no address of a socket`);
  if (isAbstract) path[0] = 0; // "@" stands for the leading NUL of an abstract name
  const target = Buffer.concat([Buffer.from([unixFamily, 0]), path, Buffer.from(isAbstract ? [] : [0])]);
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

const setPipeSize = 1031;

/** Gives a pipe room for so many bytes: who writes waits later for a reader that is not scheduled at once. */
export async function growPipe(file: number, bytes: number): Promise<void> {
  const { dlopen } = await import('bun:ffi');
  const { symbols: c } = dlopen('libc.so.6', { fcntl: { args: ['i32', 'i32', 'i32'], returns: 'i32' } });
  c.fcntl(file, setPipeSize, bytes);
}

/** A range of this process's memory. */
export interface MemoryRange {
  start: bigint;
  bytes: bigint;
}

const dontNeed = 4;
const pageOut = 21;

/**
 * Lets go of the pages of these ranges. They have to be of a file and never written: such a page comes back from the file when it is
 * read again, any other would be zeros.
 *
 * @returns whether the kernel did it for all of them.
 */
export const forgetPages = (ranges: readonly MemoryRange[]): Promise<boolean> => advise(ranges, dontNeed);

/**
 * Asks the kernel to take back what it can of these ranges, of whatever kind, with nothing lost: a written page goes to the swap, or stays.
 *
 * @returns whether the kernel did it for all of them; those before Linux 5.4 do not.
 */
export const takeBackPages = (ranges: readonly MemoryRange[]): Promise<boolean> => advise(ranges, pageOut);

async function advise(ranges: readonly MemoryRange[], advice: number): Promise<boolean> {
  const { dlopen } = await import('bun:ffi');
  const { symbols: c } = dlopen('libc.so.6', { madvise: { args: ['u64', 'u64', 'i32'], returns: 'i32' } });
  return ranges.map(({ start, bytes }) => Number(c.madvise(start, bytes, advice)) === 0).every(Boolean);
}
