/** Reads tensors from the legacy format of PyTorch before version 1.6: five pickles, then the values. */
import { Call, Named, Outside, PickleError, readPickle } from './pickle.ts';
import type { Pickled } from './pickle.ts';

export interface Tensor {
  shape: readonly number[];
  /** Row-major, whatever their order in the file. */
  values: Float32Array;
}

const magic = 0x1950a86a20f9469cfc6cn;
const version = 1001;

function refuse(what: string): never {
  throw new PickleError(`this is not a file of tensors: ${what}`);
}
function listOf(value: Pickled | undefined): readonly Pickled[] {
  return Array.isArray(value) ? value : refuse('a list is missing');
}
function numberOf(value: Pickled | undefined): number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : refuse('a number is missing');
}
const isCallOf = (value: Pickled | undefined, name: string): value is Call =>
  value instanceof Call && value.target instanceof Named && value.target.name === name;

interface Storage {
  key: string;
  kind: string;
  count: number;
}
/** ('storage', class, key, location, number of values, view) */
function storageOf(value: Pickled | undefined): Storage {
  const [, kind, key, , count] = value instanceof Outside ? listOf(value.id) : refuse('a storage is missing');
  if (!(kind instanceof Named) || typeof key !== 'string') refuse('a storage has no class or key');
  return { key, kind: kind.name, count: numberOf(count) };
}

/** Tensors by name, in the order of the file; skips integer tensors. Throws PickleError. */
export function readTensors(bytes: Buffer): Map<string, Tensor> {
  let at = 0;
  const next = (): Pickled => {
    const { value, end } = readPickle(bytes, at);
    at = end;
    return value;
  };
  if (next() !== magic || next() !== version) refuse('it begins otherwise');
  next(); // properties of the writing system
  const root = next();
  const keys = listOf(next());
  if (!isCallOf(root, 'collections.OrderedDict')) refuse('it does not hold tensors by name');

  const used = new Map<string, Storage>();
  const views = new Map<string, { storage: Storage; offset: number; shape: number[]; strides: number[] }>();
  for (const [name, tensor] of root.entries) {
    if (typeof name !== 'string' || !isCallOf(tensor, 'torch._utils._rebuild_tensor_v2')) refuse('a tensor is missing');
    const [place, offset, shape, strides] = tensor.args;
    const storage = storageOf(place);
    used.set(storage.key, storage);
    views.set(name, {
      storage,
      offset: numberOf(offset),
      shape: listOf(shape).map(numberOf),
      strides: listOf(strides).map(numberOf),
    });
  }

  const values = new Map<string, Float32Array>();
  for (const key of keys) {
    const storage = typeof key === 'string' ? used.get(key) : undefined;
    if (!storage || bytes.length < at + 8) refuse('the values of a storage are missing');
    if (bytes.readBigInt64LE(at) !== BigInt(storage.count)) refuse('a storage has another size than it should');
    const size = storage.count * (storage.kind === 'torch.LongStorage' ? 8 : 4);
    const own = bytes.subarray(at + 8, at + 8 + size);
    if (own.length !== size) refuse('the values of a storage are missing');
    if (storage.kind === 'torch.FloatStorage') values.set(storage.key, new Float32Array(Uint8Array.from(own).buffer));
    else if (storage.kind !== 'torch.LongStorage') refuse(`it has values of the class ${storage.kind}`);
    at += 8 + size;
  }
  if (at !== bytes.length) refuse('something follows the last storage');

  const tensors = new Map<string, Tensor>();
  for (const [name, { storage, offset, shape, strides }] of views) {
    const from = values.get(storage.key);
    if (from) tensors.set(name, { shape, values: rowByRow(from, offset, shape, strides) });
  }
  return tensors;
}

function rowByRow(from: Float32Array, offset: number, shape: readonly number[], strides: readonly number[]) {
  const count = shape.reduce((a, b) => a * b, 1);
  const out = new Float32Array(count);
  for (let i = 0; i < count; i++) {
    let [rest, place] = [i, offset];
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      const size = shape[axis] ?? 1;
      place += (rest % size) * (strides[axis] ?? 0);
      rest = Math.floor(rest / size);
    }
    out[i] = from[place] ?? refuse('a tensor reaches beyond its storage');
  }
  return out;
}
