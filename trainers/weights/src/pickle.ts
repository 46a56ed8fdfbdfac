/**
 * Reads the subset of Python's pickle format that tensor files use. It imports and calls nothing: a global stays a
 * name, a call stays a description. Any other opcode is refused.
 */

/** A global that a full unpickler would import. */
export class Named {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}
/** A call that a full unpickler would make. */
export class Call {
  readonly target: Pickled;
  readonly args: readonly Pickled[];
  /** Items that the pickle sets on the result afterwards. */
  readonly entries = new Map<Pickled, Pickled>();
  constructor(target: Pickled, args: readonly Pickled[]) {
    this.target = target;
    this.args = args;
  }
}
/** A persistent ID: data stored outside the pickle. */
export class Outside {
  readonly id: Pickled;
  constructor(id: Pickled) {
    this.id = id;
  }
}
export type Pickled =
  | null
  | boolean
  | number
  | bigint
  | string
  | readonly Pickled[]
  | Map<Pickled, Pickled>
  | Named
  | Call
  | Outside;

export class PickleError extends Error {
  override readonly name = 'PickleError';
}

const mark = Symbol('mark');

class Unpickler {
  readonly #bytes: Buffer;
  readonly #stack: (Pickled | typeof mark)[] = [];
  readonly #memo = new Map<number, Pickled>();
  at: number;
  constructor(bytes: Buffer, at: number) {
    this.#bytes = bytes;
    this.at = at;
  }

  #take(count: number): Buffer {
    if (this.at + count > this.#bytes.length) throw new PickleError('the pickle ends too early');
    this.at += count;
    return this.#bytes.subarray(this.at - count, this.at);
  }
  #line(): string {
    const end = this.#bytes.indexOf(0x0a, this.at);
    if (end < 0) throw new PickleError('the pickle ends too early');
    return this.#take(end + 1 - this.at)
      .toString('utf8')
      .slice(0, -1);
  }
  #pop(): Pickled {
    const value = this.#stack.pop();
    if (value === undefined || value === mark) throw new PickleError('the pickle takes what is not there');
    return value;
  }
  #peek(): Pickled {
    const value = this.#pop();
    this.#stack.push(value);
    return value;
  }
  #sinceMark(): Pickled[] {
    const from = this.#stack.lastIndexOf(mark);
    if (from < 0) throw new PickleError('the pickle takes what is not there');
    return this.#stack.splice(from).filter((value) => value !== mark);
  }
  #last(count: number): Pickled[] {
    return Array.from({ length: count }, () => this.#pop()).toReversed();
  }
  #recall(index: number): Pickled {
    const value = this.#memo.get(index);
    if (value === undefined) throw new PickleError('the pickle recalls what it never kept');
    return value;
  }
  #put(pairs: readonly Pickled[]): void {
    const target = this.#peek();
    const entries = target instanceof Call ? target.entries : target;
    if (!(entries instanceof Map)) throw new PickleError('the pickle puts entries into what has none');
    for (let i = 0; i + 1 < pairs.length; i += 2) entries.set(pairs[i] ?? null, pairs[i + 1] ?? null);
  }
  #call(): Call {
    const [target = null, args] = this.#last(2);
    if (!Array.isArray(args)) throw new PickleError('the pickle calls with a value that is not a list of arguments');
    return new Call(target, args);
  }

  /** Opcodes that push one value. */
  readonly #makers: Readonly<Record<string, () => Pickled>> = {
    N: () => null,
    '\x88': () => true,
    '\x89': () => false,
    K: () => this.#take(1).readUInt8(),
    M: () => this.#take(2).readUInt16LE(),
    J: () => this.#take(4).readInt32LE(),
    '\x8a': () => this.#long(this.#take(1).readUInt8()),
    X: () => this.#take(this.#take(4).readUInt32LE()).toString('utf8'),
    ')': () => [],
    ']': () => [],
    '}': () => new Map(),
    t: () => this.#sinceMark(),
    '\x85': () => this.#last(1),
    '\x86': () => this.#last(2),
    '\x87': () => this.#last(3),
    h: () => this.#recall(this.#take(1).readUInt8()),
    j: () => this.#recall(this.#take(4).readUInt32LE()),
    c: () => new Named(`${this.#line()}.${this.#line()}`),
    R: () => this.#call(),
    Q: () => new Outside(this.#pop()),
  };
  readonly #others: Readonly<Record<string, () => void>> = {
    '(': () => void this.#stack.push(mark),
    q: () => void this.#memo.set(this.#take(1).readUInt8(), this.#peek()),
    r: () => void this.#memo.set(this.#take(4).readUInt32LE(), this.#peek()),
    s: () => this.#put(this.#last(2)),
    u: () => this.#put(this.#sinceMark()),
    e: () => {
      const items = this.#sinceMark();
      const list = this.#pop();
      if (!Array.isArray(list)) throw new PickleError('the pickle appends to a value that is not a list');
      this.#stack.push([...list, ...items]);
    },
    // Ignores attributes of an object: tensors need none of them.
    b: () => void this.#pop(),
  };
  #long(size: number): bigint {
    const bytes = this.#take(size);
    return bytes.reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
  }

  read(): Pickled {
    const protocol = this.#take(2);
    if (protocol[0] !== 0x80 || protocol[1] !== 2) throw new PickleError('this is not a pickle of protocol 2');
    for (;;) {
      const opcode = this.#take(1).toString('latin1');
      if (opcode === '.') return this.#pop();
      const make = this.#makers[opcode];
      if (make) {
        this.#stack.push(make());
        continue;
      }
      const act = this.#others[opcode];
      if (!act) throw new PickleError(`the pickle has the opcode ${JSON.stringify(opcode)}, which is not read here`);
      act();
    }
  }
}

/**
 * @returns the value and the end position of the pickle.
 * @throws PickleError
 */
export function readPickle(bytes: Buffer, from = 0): { value: Pickled; end: number } {
  const unpickler = new Unpickler(bytes, from);
  const value = unpickler.read();
  return { value, end: unpickler.at };
}
