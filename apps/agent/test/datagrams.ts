// Runs on Bun because Node has no unix datagram sockets: listens and prints each datagram as a JSON line.
//   bun datagrams.ts PATH-OR-@NAME
import { dlopen, ptr } from 'bun:ffi';

const { symbols: c } = dlopen('libc.so.6', {
  socket: { args: ['i32', 'i32', 'i32'], returns: 'i32' },
  bind: { args: ['i32', 'ptr', 'u32'], returns: 'i32' },
  recv: { args: ['i32', 'ptr', 'u64', 'i32'], returns: 'i64' },
});
const name = Buffer.from(process.argv[2] ?? '');
const isAbstract = name[0] === 0x40;
if (isAbstract) name[0] = 0;
const address = Buffer.concat([Buffer.from([1, 0]), name, Buffer.from(isAbstract ? [] : [0])]);
const socket = Number(c.socket(1, 2, 0));
if (Number(c.bind(socket, ptr(address), address.length)) !== 0) throw new Error(`${process.argv[2]} cannot be bound`);
const bytes = Buffer.alloc(4096);
process.stdout.write('"bound"\n');
for (;;) {
  const length = Number(c.recv(socket, ptr(bytes), bytes.length, 0));
  if (length <= 0) break;
  process.stdout.write(`${JSON.stringify(bytes.toString('utf8', 0, length))}\n`);
}
