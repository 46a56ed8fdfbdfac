// Separate from system.ts, so that the long-running relay process loads no more code than it needs.
export { growPipe } from '../os/linux/kernel/libc.ts';
export { holdPresence } from '../os/linux/kernel/presence-pipes.ts';
