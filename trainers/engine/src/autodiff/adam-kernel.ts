/**
 * The inner loop of Adam in WebAssembly SIMD, four values at a time. It is hand-written, because the same loop in
 * JavaScript took a third of the time of a training step.
 */

/** Parameters of the kernel, in order. Addresses and sizes in bytes, sizes a multiple of 16. */
const parameters = {
  values: 'i32', gradient: 'i32', first: 'i32', second: 'i32', size: 'i32',
  decay1: 'f32', fresh1: 'f32', decay2: 'f32', fresh2: 'f32', rate: 'f32', correction: 'f32', floor: 'f32',
} as const; // prettier-ignore
type Name = keyof typeof parameters;
const names = Object.keys(parameters) as Name[];
/** Local variables after the parameters: the position and the vectors in use. */
const local = { at: names.length, gradient: names.length + 1, first: names.length + 2, second: names.length + 3 };

const types = { i32: 0x7f, f32: 0x7d, v128: 0x7b };
const block = 0x02;
const loop = 0x03;
const nothing = 0x40;
const end = 0x0b;
const get = (index: number): number[] => [0x20, index];
const set = (index: number): number[] => [0x21, index];
const simd = (code: number): number[] => (code < 0x80 ? [0xfd, code] : [0xfd, (code & 0x7f) | 0x80, code >> 7]);
const argument = (name: Name): number[] => get(names.indexOf(name));
const splat = (name: Name): number[] => [...argument(name), ...simd(0x13)];
const sqrt = simd(0xe3);
const [add, sub, mul, div] = [simd(0xe4), simd(0xe5), simd(0xe6), simd(0xe7)] as const;
const unaligned = [0, 0];
const address = (name: Name): number[] => [...argument(name), ...get(local.at), 0x6a];
const read = (name: Name): number[] => [...address(name), ...simd(0x00), ...unaligned];
const write = (name: Name, value: readonly number[]): number[] => [
  ...address(name),
  ...value,
  ...simd(0x0b),
  ...unaligned,
];

/** decay · before + fresh · new */
const blend = (before: Name, decay: Name, fresh: Name, added: readonly number[]): number[] => [
  ...read(before), ...splat(decay), ...mul, ...added, ...splat(fresh), ...mul, ...add,
]; // prettier-ignore
const gradient = get(local.gradient);
const join = (...parts: readonly (readonly number[])[]): number[] => parts.flat();
const [isAtEnd, leaveIf, again, constant, addAddress] = [0x4f, 0x0d, 0x0c, 0x41, 0x6a] as const;
const descent = join(get(local.first), splat('rate'), mul);
const spread = join(get(local.second), splat('correction'), mul, sqrt, splat('floor'), add);
const body = join(
  [block, nothing, loop, nothing],
  join(get(local.at), argument('size'), [isAtEnd, leaveIf, 1]),
  join(read('gradient'), set(local.gradient)),
  join(blend('first', 'decay1', 'fresh1', gradient), set(local.first)),
  join(blend('second', 'decay2', 'fresh2', join(gradient, gradient, mul)), set(local.second)),
  write('first', get(local.first)),
  write('second', get(local.second)),
  write('values', join(read('values'), descent, spread, div, sub)),
  join(get(local.at), [constant, 16, addAddress], set(local.at)),
  [again, 0, end, end, end],
);

/** Encodes sizes as LEB128. */
function count(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...count(value >> 7)];
}
const sized = (bytes: readonly number[]): number[] => [...count(bytes.length), ...bytes];
const text = (value: string): number[] => sized([...Buffer.from(value)]);
const section = (id: number, bytes: readonly number[]): number[] => [id, ...sized(bytes)];

const signature = [0x60, ...sized(Object.values(parameters).map((type) => types[type])), 0];
const locals = [2, 1, types.i32, 3, types.v128];
const head = [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0];
const code = Uint8Array.from(
  join(
    head,
    section(1, [1, ...signature]),
    section(2, [1, ...text('engine'), ...text('memory'), 2, 0, 1]),
    section(3, [1, 0]),
    section(7, [1, ...text('step'), 0, 0]),
    section(10, [1, ...sized([...locals, ...body])]),
  ),
);

export type AdamArguments = Record<Name, number>;

export interface Memory {
  readonly buffer: ArrayBuffer;
}
/** The part of WebAssembly's types that is used here: only the browser's type library declares them. */
interface Assembly {
  Memory: new (size: { initial: number }) => Memory;
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object, imports: object) => { exports: Record<string, unknown> };
}
const { WebAssembly: assembly } = globalThis as unknown as { WebAssembly: Assembly };
const pageBytes = 1 << 16;

/** Zero-initialized memory. */
export const memoryOf = (bytes: number): Memory => new assembly.Memory({ initial: Math.ceil(bytes / pageBytes) });

/** @returns the kernel, bound to this memory. */
export function adamKernel(memory: Memory): (given: AdamArguments) => void {
  const { exports } = new assembly.Instance(new assembly.Module(code), { engine: { memory } });
  const step = exports['step'] as (...given: number[]) => void;
  return (given) => step(...names.map((name) => given[name]));
}
