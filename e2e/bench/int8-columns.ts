/** The columns about INT8 that the training benchmarks print at the end: sizes and scores beside float32. */
import type { AnyEvaluation, Int8Form } from '@platform/contract/evaluation';

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
const cells = (form: Int8Form | undefined): string[] =>
  form ? [megabytes(form.size_bytes), `${percent(form.score)}${form.is_delivered ? '' : ', left out'}`] : ['–', '–'];

const head = ['set', 'metric', 'float32', 'score', 'INT8 ONNX', 'score', 'INT8 TensorFlow Lite', 'score'];

/** One line of a table for an evaluation. */
export function int8Row(name: string, { int8, model }: AnyEvaluation): string[] {
  if (!int8) return [name, ...head.slice(1).map(() => '–')];
  const formOf = (format: Int8Form['format']): Int8Form | undefined => int8.forms.find((one) => one.format === format);
  const float32 = [megabytes(model.size_bytes), percent(int8.float32)];
  return [name, int8.metric, ...float32, ...cells(formOf('onnx')), ...cells(formOf('tflite'))];
}

export function printInt8(rows: readonly (readonly string[])[]): void {
  if (rows.length === 0) return;
  console.log('\nINT8 (the TensorFlow Lite form holds the numbers of the ONNX form, which was measured)');
  for (const row of [head, head.map(() => '---'), ...rows]) console.log(`| ${row.join(' | ')} |`);
}
