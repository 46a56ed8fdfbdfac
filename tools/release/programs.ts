/** A program that is compiled into one file. */
export interface Program {
  readonly name: string;
  /** Workspace folder below apps/. */
  readonly app: string;
  /** Path relative to the workspace folder. */
  readonly entry: string;
  /** Embedded files: import specifier, and path below node_modules. */
  readonly files: Readonly<Record<string, string>>;
}

export const programs = {
  'platform-agent': { name: 'platform-agent', app: 'agent', entry: 'src/compiled.ts', files: {} },
  'platform-server': {
    name: 'platform-server',
    app: 'machine-server',
    entry: 'src/compiled.ts',
    files: {
      '@jsquash/jpeg/codec/dec/mozjpeg_dec.wasm': '@jsquash/jpeg/codec/dec/mozjpeg_dec.wasm',
      '@jsquash/jpeg/codec/enc/mozjpeg_enc.wasm': '@jsquash/jpeg/codec/enc/mozjpeg_enc.wasm',
      'onnxruntime-web/ort-wasm-simd-threaded.wasm': 'onnxruntime-web/dist/ort-wasm-simd-threaded.wasm',
    },
  },
} as const satisfies Readonly<Record<string, Program>>;

/** Failure modes of test programs; releases have none. */
export const faults = ['crash', 'hang', 'mute', 'background'] as const;
export type Fault = (typeof faults)[number];
