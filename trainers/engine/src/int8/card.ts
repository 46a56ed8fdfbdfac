/** Section of a model card about the INT8 forms. */
import { scoreText } from '@platform/contract/job/confidence';
import type { Int8Report } from '@platform/contract/job/evaluation';
import { table } from '../markdown.ts';

const metricNames: Readonly<Record<Int8Report['metric'], string>> = {
  accuracy: 'accuracy',
  micro_f1: 'micro F1',
  map50: 'mAP50',
};

export function int8Section(report: Int8Report | undefined): string[] {
  if (!report) return [];
  const { calibration_images: images, metric, float32, cases, forms } = report;
  if (forms.length === 0) return ['', '## INT8', 'No INT8 form: the time of the job was over.'];
  const rows = forms.map((one) => [
    one.file,
    one.size_bytes,
    scoreText(metric, one.score, one.cases ?? cases),
    one.is_delivered ? 'delivered' : 'left out',
    one.reason,
  ]);
  return [
    '',
    '## INT8',
    `The same network with 8-bit numbers: smaller, and faster where the runtime uses integer arithmetic. ${images} training images chose the ranges of the numbers; weights have a scale for each channel. The float32 ONNX file has ${metricNames[metric]} ${scoreText(metric, float32, cases)} on the same held-out images.`,
    '',
    ...table(['file', 'bytes', metricNames[metric], '', 'reason'], rows),
    '',
    ...forms.map(
      ({ file, score_by: by, images: count }) =>
        `- The score of ${file} was measured with ${by}${count === undefined ? '' : ` on ${count} held-out images`}.`,
    ),
  ];
}
