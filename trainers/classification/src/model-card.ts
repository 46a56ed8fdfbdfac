/** model_card.json and model_card.md: what the model is, how it is used and how good it is. */
import type { Evaluation } from '@platform/contract/evaluation';
import type { JobSpec } from '@platform/contract/job';

export interface ModelCard {
  name: string;
  version: string;
  task: string;
  labels: readonly string[];
  input: { name: string; type: string; shape: number[]; layout: string };
  output: { name: string; type: string; shape: number[] };
  pretrained: { name: string; sha256: string; license: string };
  dataset: { dataset_id?: string; dataset_version_id?: string; pictures: Evaluation['pictures'] };
  result: { evaluated_on: string; count: number; accuracy: number; macro_f1: number; chosen: string };
  limits: string[];
}

export function modelCard(job: JobSpec, evaluation: Evaluation): ModelCard {
  const { labels, side, evaluated_on, count, accuracy, macro_f1, chosen, pictures, pretrained } = evaluation;
  return {
    name: job.model_name,
    version: job.model_version,
    task: evaluation.task,
    labels,
    input: { name: 'image', type: 'uint8', shape: [1, side, side, 3], layout: 'NHWC, RGB, stretched to this size' },
    output: { name: 'probability', type: 'float32', shape: [1, labels.length] },
    pretrained: { ...pretrained, license: 'Apache-2.0' },
    dataset: {
      ...(job.dataset_id === undefined ? {} : { dataset_id: job.dataset_id }),
      ...(job.dataset_version_id === undefined ? {} : { dataset_version_id: job.dataset_version_id }),
      pictures,
    },
    result: { evaluated_on, count, accuracy, macro_f1, chosen },
    limits: [
      'It knows the labels above and gives one of them for every picture, also for pictures of other things.',
      'The figures hold for pictures like those of the dataset.',
      ...(evaluated_on === 'validation' ? ['The pictures of the figures were also used to choose the weights.'] : []),
    ],
  };
}

const percent = (x: number): string => `${(100 * x).toFixed(1)} %`;

function section(title: string, items: readonly string[]): string[] {
  return items.length === 0 ? [] : ['', `## ${title}`, ...items.map((item) => `- ${item}`)];
}

export function modelCardText(
  card: ModelCard,
  { per_class, seed, seconds, model, advice, skipped }: Evaluation,
): string {
  const rows = per_class.map(
    ({ label, precision, recall, support }) => `| ${label} | ${percent(precision)} | ${percent(recall)} | ${support} |`,
  );
  return [
    `# ${card.name} ${card.version}`,
    '',
    `Single-label classifier of ${card.labels.length} labels, from ${card.pretrained.name} (${card.pretrained.license}).`,
    '',
    `**${percent(card.result.accuracy)}** of ${card.result.count} held-out pictures (${card.result.evaluated_on}) are right; mean F1 ${card.result.macro_f1.toFixed(3)}; the ${card.result.chosen} won.`,
    '',
    '| label | precision | recall | held-out pictures |',
    '|---|---|---|---|',
    ...rows,
    '',
    `- Input \`image\`: uint8 [${card.input.shape.join(', ')}], ${card.input.layout}. Output \`probability\`: float32 [${card.output.shape.join(', ')}], in the order of labels.txt.`,
    `- ${card.dataset.pictures.train} training, ${card.dataset.pictures.validation} validation, ${card.dataset.pictures.test} test pictures, ${card.dataset.pictures.skipped} skipped; seed ${seed}; ${seconds.total} s.`,
    `- ${model.size_bytes} bytes, ${model.latency_ms} ms per picture where it was trained.`,
    ...section('Limits', card.limits),
    ...section('Advice', advice),
    ...section(
      'Skipped pictures',
      skipped.map(({ file_name, image_path, reason }) => `${file_name || image_path}: ${reason}`),
    ),
    '',
  ].join('\n');
}
