/** ONNX Runtime, with settings for training on shared hosts. */
import * as ort from 'onnxruntime-node';

/** A compiled graph. Inputs and results are float32 or uint8 with the graph's shapes. */
export interface Session {
  /**
   * @param into - buffers of the caller for results. The results of a training step are as large as the network.
   *   New memory for each step would be freed too late.
   */
  run(feeds: Feeds, into?: Readonly<Record<string, FloatFeed>>): Promise<Results>;
  release(): Promise<void>;
}
export interface Feed {
  data: Float32Array | Uint8Array;
  dims: readonly number[];
}
export interface FloatFeed extends Feed {
  data: Float32Array;
}
export type Feeds = Readonly<Record<string, Feed>>;
export type Results = (name: string) => Float32Array;

/** cuda: index among the GPUs that this process sees. */
export type Place = 'cpu' | { cuda: number };

/**
 * Threads do not spin while they wait: spinning would double the CPU time where other programs share the cores.
 *
 * @param model - the bytes, or the path of a file.
 * @throws when the GPU cannot be used; there is no silent fallback to the CPU.
 */
export async function openSession(model: Uint8Array | string, threads: number, place: Place = 'cpu'): Promise<Session> {
  // NVIDIA's libraries use TensorFloat-32 by default: with 10 bits of mantissa, the exported model would differ from
  // the trained one. They read this variable when they are loaded.
  if (place !== 'cpu') process.env['NVIDIA_TF32_OVERRIDE'] = '0';
  const options: ort.InferenceSession.SessionOptions = {
    executionProviders: place === 'cpu' ? ['cpu'] : [{ name: 'cuda', deviceId: place.cuda }],
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    executionMode: 'sequential',
    logSeverityLevel: 3,
    // The arena keeps the memory of a step for the next one: new memory costs a quarter of the time. A memory pattern
    // would allocate a second block as large as the first step's memory.
    enableCpuMemArena: true,
    enableMemPattern: false,
    extra: { session: { intra_op: { allow_spinning: '0' } } },
  };
  const session = await (typeof model === 'string'
    ? ort.InferenceSession.create(model, options)
    : ort.InferenceSession.create(model, options));
  return {
    run: async (feeds, into) => {
      const outputs = into ? await session.run(tensorsOf(feeds), tensorsOf(into)) : await session.run(tensorsOf(feeds));
      const found = new Map(
        Object.entries(outputs).map(([name, { data }]) => [name, keepResult(data as Uint8Array, into?.[name]?.data)]),
      );
      return (name) => {
        const data = found.get(name);
        if (!(data instanceof Float32Array)) throw new Error(`the graph gave no float32 output "${name}"`);
        return data;
      };
    },
    release: () => session.release(),
  };
}

/**
 * ONNX Runtime writes a result to the given buffer and returns a copy as well. The copies of a step are as large as the
 * network. They are freed at once instead of by V8's garbage collection.
 */
function keepResult(handedOut: Feed['data'], kept: Float32Array | undefined): Feed['data'] {
  if (!kept) return handedOut;
  const { buffer } = handedOut;
  if (buffer !== kept.buffer && buffer instanceof ArrayBuffer) buffer.transfer(0);
  return kept;
}

function tensorsOf(feeds: Feeds): Record<string, ort.Tensor> {
  const tensors: Record<string, ort.Tensor> = {};
  for (const [name, { data, dims }] of Object.entries(feeds)) {
    tensors[name] =
      data instanceof Uint8Array ? new ort.Tensor('uint8', data, dims) : new ort.Tensor('float32', data, dims);
  }
  return tensors;
}
