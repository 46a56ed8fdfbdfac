import * as ort from 'onnxruntime-web/wasm';

/** A loaded network; runs one image at a time. */
export interface Network {
  /** Input size of the network. */
  readonly height: number;
  readonly width: number;
  /** @param read - called when it is this image's turn; returns `height` × `width` × 3 bytes. */
  run(read: () => Uint8Array | Promise<Uint8Array>): Promise<Outputs>;
  release(): Promise<void>;
}

/** @param name - one of the outputs that the network was loaded with. */
export type Outputs = (name: string) => Float32Array;

/** Runs ONNX files. */
export interface ModelEngine {
  /** @throws Error when the bytes are not a network with input `image` uint8 [1,H,W,3] and these outputs. */
  load(onnx: Uint8Array, outputs: readonly string[]): Promise<Network>;
}

/** @param wasm - content of onnxruntime's WebAssembly file; read for the first network, and again only if that failed. */
export function createModelEngine(wasm: () => Promise<Uint8Array>): ModelEngine {
  const state: { ready?: Promise<void> } = {};
  const prepare = async () => {
    ort.env.wasm.wasmBinary = await wasm();
    ort.env.wasm.numThreads = 1; // a compiled program crashes with more threads
    ort.env.logLevel = 'error';
  };
  return {
    load: async (onnx, outputs) => {
      state.ready ??= prepare();
      try {
        await state.ready;
      } catch (error) {
        delete state.ready;
        throw error;
      }
      return load(onnx, outputs);
    },
  };
}

async function load(onnx: Uint8Array, outputs: readonly string[]): Promise<Network> {
  const session = await ort.InferenceSession.create(onnx);
  try {
    const { height, width } = imageSize(session);
    const missing = outputs.find((name) => !session.outputNames.includes(name));
    if (missing !== undefined) throw new Error(`it has no output named "${missing}"`);
    const last = { run: Promise.resolve<unknown>(undefined) };
    /** A session supports one call at a time. */
    const inOrder = <T>(work: () => Promise<T>): Promise<T> => {
      const done = last.run.then(work);
      last.run = done.catch(() => {});
      return done;
    };
    return {
      height,
      width,
      run: (read) => inOrder(async () => run(session, { rgb: await read(), shape: [1, height, width, 3], outputs })),
      release: () => inOrder(() => session.release()),
    };
  } catch (error) {
    await session.release();
    throw error;
  }
}

async function run(
  session: ort.InferenceSession,
  { rgb, shape, outputs }: { rgb: Uint8Array; shape: readonly number[]; outputs: readonly string[] },
): Promise<Outputs> {
  const results = await session.run({ image: new ort.Tensor('uint8', rgb, shape) }, outputs);
  return (name) => {
    const data = results[name]?.data;
    if (!(data instanceof Float32Array)) throw new Error(`output "${name}" holds no 32-bit floats`);
    return data;
  };
}

function imageSize(session: ort.InferenceSession): { height: number; width: number } {
  const input = session.inputMetadata.find(({ name }) => name === 'image');
  const wanted = 'an input "image" of type uint8 and shape [1, height, width, 3]';
  if (!input?.isTensor) throw new Error(`it needs ${wanted}`);
  const [count, height, width, channels] = input.shape;
  if (
    input.type !== 'uint8' ||
    count !== 1 ||
    channels !== 3 ||
    typeof height !== 'number' ||
    typeof width !== 'number'
  ) {
    throw new Error(`it needs ${wanted}, not ${input.type} [${input.shape.join(', ')}]`);
  }
  return { height, width };
}
