import * as ort from 'onnxruntime-web/wasm';

/** A network in memory; runs one picture at a time. */
export interface Network {
  /** Height and width of the pictures it wants. */
  readonly height: number;
  readonly width: number;
  /** @param rgb - `height` × `width` × 3 bytes. @returns one probability for each class. */
  run(rgb: Uint8Array): Promise<Float32Array>;
  release(): Promise<void>;
}

/** Runs ONNX files. */
export interface ModelEngine {
  /** @throws Error when the bytes are no network with input `image` uint8 [1,H,W,3] and output `probability`. */
  load(onnx: Uint8Array): Promise<Network>;
}

/** @param wasm - content of onnxruntime's WebAssembly file; read once, when the first network is loaded. */
export function createModelEngine(wasm: () => Promise<Uint8Array>): ModelEngine {
  const state: { ready?: Promise<void> } = {};
  const prepare = async () => {
    ort.env.wasm.wasmBinary = await wasm();
    ort.env.wasm.numThreads = 1; // a compiled program crashes with more
    ort.env.logLevel = 'error';
  };
  return {
    load: async (onnx) => {
      await (state.ready ??= prepare());
      return load(onnx);
    },
  };
}

async function load(onnx: Uint8Array): Promise<Network> {
  const session = await ort.InferenceSession.create(onnx);
  try {
    const { height, width } = pictureSize(session);
    if (!session.outputNames.includes('probability')) throw new Error('it has no output named "probability"');
    const last = { run: Promise.resolve<unknown>(undefined) };
    /** A session takes one call at a time. */
    const inOrder = <T>(work: () => Promise<T>): Promise<T> => {
      const done = last.run.then(work);
      last.run = done.catch(() => {});
      return done;
    };
    return {
      height,
      width,
      run: (rgb) => inOrder(() => run(session, rgb, [1, height, width, 3])),
      release: () => inOrder(() => session.release()),
    };
  } catch (error) {
    await session.release();
    throw error;
  }
}

async function run(session: ort.InferenceSession, rgb: Uint8Array, shape: number[]): Promise<Float32Array> {
  const { probability } = await session.run({ image: new ort.Tensor('uint8', rgb, shape) }, ['probability']);
  if (!(probability?.data instanceof Float32Array)) throw new Error('output "probability" holds no 32-bit floats');
  return probability.data;
}

function pictureSize(session: ort.InferenceSession): { height: number; width: number } {
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
