/** How the model files are measured, as text for model cards. */
import type { Int8Form } from '@platform/contract/job/evaluation';

type By = Readonly<Record<Int8Form['format'], string>>;

export const scoreBy: By = { onnx: 'ONNX Runtime', tflite: 'LiteRT (WebAssembly)' };
export const latencyBy: By = {
  onnx: 'ONNX Runtime on the host that trained, median of the held-out images',
  // At 224 px and float32: 36 ms of CPU time, 8.4 ms in native LiteRT 2.3 with one thread.
  tflite: 'LiteRT (WebAssembly, one thread) on the host that trained, median; native LiteRT is faster',
};
