// Apart from system.ts: the relay is a process of its own that stays, and holds no more code than it needs.
export { growPipe } from '../os/linux/libc.ts';
