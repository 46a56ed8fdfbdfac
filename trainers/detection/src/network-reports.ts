/** What the networks of a job cost: size and time of their ONNX files. */
import type { NetworkChoice, NetworkReport, Stage } from '@platform/contract/evaluation';
import { timedImages } from '@platform/trainer-engine/choose-network';
import { round } from '@platform/trainer-engine/progress';
import type { ComparedNetworks, NetworkCandidate } from './choose-rescoring.ts';
import { timeModel } from './measure.ts';
import type { Sample } from './prepare.ts';
import type { TrainingRun } from './training-run.ts';

export interface ReportedNetworks {
  compared: ComparedNetworks;
  stage: Stage;
  onnxOf(candidate: NetworkCandidate): Uint8Array;
  /** Images for the time. */
  images: readonly Sample[];
}

/** Runs one file after the other, so that only one is in memory. */
export async function reportNetworks(
  run: TrainingRun,
  { compared, stage, onnxOf, images }: ReportedNetworks,
): Promise<NetworkChoice> {
  const candidates: NetworkReport[] = [];
  for (const candidate of compared.candidates) {
    const { recipe, detector, seconds, validation_score } = candidate;
    const onnx = onnxOf(candidate);
    candidates.push({
      recipe,
      name: detector.name,
      stage,
      size_bytes: onnx.byteLength,
      latency_ms: round(await timeModel(run, onnx, images.slice(0, timedImages))),
      seconds,
      validation_score,
    });
  }
  return { ...compared, candidates };
}
