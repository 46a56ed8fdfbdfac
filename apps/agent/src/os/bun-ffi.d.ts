/** The subset of Bun's foreign function interface that is used here. */
declare module 'bun:ffi' {
  type Kind = 'i32' | 'u32' | 'u64' | 'i64' | 'ptr' | 'cstring';
  interface Signature {
    readonly args: readonly Kind[];
    readonly returns: Kind;
  }
  type Argument = number | bigint | Uint8Array;
  export function dlopen<T extends Readonly<Record<string, Signature>>>(
    library: string,
    signatures: T,
  ): { symbols: { readonly [name in keyof T]: (...args: readonly Argument[]) => number | bigint } };
  /** Address of the first byte; valid as long as the array is referenced. */
  export function ptr(bytes: Uint8Array): number;
  /** A function that foreign code may call. With `threadsafe`, any thread may call it; it then runs on this thread. */
  export class JSCallback {
    constructor(
      callback: (...args: readonly number[]) => void,
      signature: { readonly args: readonly Kind[]; readonly returns: 'void'; readonly threadsafe: boolean },
    );
    readonly ptr: number | null;
  }
}
