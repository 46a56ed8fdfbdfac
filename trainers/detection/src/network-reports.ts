/** What the networks of a job cost: size and time of their ONNX files. */
import type { NetworkChoice, Stage } from '@platform/contract/job/evaluation';
import type { ModelsOnDisk } from '@platform/trainer-engine/model-file';
import { round } from '@platform/trainer-engine/progress';
import type { ComparedNetworks } from './choose-rescoring.ts';
import type { Measurements } from './measure.ts';

export function reportNetworks(
  compared: ComparedNetworks,
  stage: Stage,
  exported: ModelsOnDisk,
  { medianMs, alternative }: Pick<Measurements, 'medianMs' | 'alternative'>,
): NetworkChoice {
  const delivered = { bytes: exported.onnx.size_bytes, medianMs };
  const candidates = compared.candidates.map(({ recipe, detector, seconds, validation_score }) => {
    const cost = recipe === compared.chosen ? delivered : alternative;
    return {
      recipe,
      name: detector.name,
      stage,
      size_bytes: cost?.bytes ?? 0,
      latency_ms: round(cost?.medianMs ?? 0),
      seconds,
      validation_score,
    };
  });
  return { ...compared, candidates };
}
