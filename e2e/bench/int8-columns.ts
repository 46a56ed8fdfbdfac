/** The columns about INT8 that the training benchmarks print at the end: sizes and scores beside float32. */
import type { AnyEvaluation, Int8Form } from '@platform/contract/job/evaluation';

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
const cells = (form: Int8Form | undefined): string[] =>
  form ? [megabytes(form.size_bytes), `${percent(form.score)}${form.is_delivered ? '' : ', left out'}`] : ['–', '–'];

/** The time to measure a form as a share of the job's. */
const shareOf = (form: Int8Form | undefined, total: number): string =>
  form?.seconds === undefined ? '–' : (form.seconds / total).toFixed(3);

const head = [
  'set', 'metric', 'float32', 'score', 'INT8 ONNX', 'score', 'share of the time',
  'INT8 TensorFlow Lite', 'score', 'images', 'share of the time',
]; // prettier-ignore

/** One line of a table for an evaluation. */
export function int8Row(name: string, { int8, model, seconds: { total } }: AnyEvaluation): string[] {
  if (!int8) return [name, ...head.slice(1).map(() => '–')];
  const formOf = (format: Int8Form['format']): Int8Form | undefined => int8.forms.find((one) => one.format === format);
  const float32 = [megabytes(model.size_bytes), percent(int8.float32)];
  const [onnx, tflite] = [formOf('onnx'), formOf('tflite')];
  const images = String(tflite?.images ?? '–');
  const ofTflite = [...cells(tflite), images, shareOf(tflite, total)];
  return [name, int8.metric, ...float32, ...cells(onnx), shareOf(onnx, total), ...ofTflite];
}

export function printInt8(rows: readonly (readonly string[])[]): void {
  if (rows.length === 0) return;
  console.log('\nINT8 (each form measured on held-out images: ONNX Runtime, LiteRT; its time beside that of the job)');
  for (const row of [head, head.map(() => '---'), ...rows]) console.log(`| ${row.join(' | ')} |`);
}
