/** One training run, from dataset.jsonl to the files of a model version. */
import { labelAdvice } from '@platform/trainer-engine/label-minimum';
import { metadataOf, writeModels } from '@platform/trainer-engine/model-file';
import { readEfficientnet } from '@platform/trainer-engine/pretrained/efficientnet';
import { crossValidate } from './cross-validation.ts';
import { smallImagesAdvice } from '@platform/trainer-engine/dataset-images';
import { Progress } from '@platform/trainer-engine/progress';
import { scoreWarnings } from '@platform/trainer-engine/score-warnings';
import { exportOnnx, exportTflite } from './classifier.ts';
import { exportInt8Classifier } from './export-int8.ts';
import { trainByRecipe } from './choose-network.ts';
import type { DeliveredNetwork } from './choose-network.ts';
import { labelMinimum } from './dataset.ts';
import { buildEvaluation } from './evaluation.ts';
import type { ClassifierEvaluation } from './evaluation.ts';
import { findUnlike } from './find-unlike.ts';
import { measure, thresholdsByStage } from './measure.ts';
import { trialStep } from './network.ts';
import { prepare } from './prepare.ts';
import { parseRecipeArguments } from './recipe.ts';
import { writeModelReports } from './model-card.ts';
import { openDevice, warnOfUnknown } from '@platform/trainer-engine/training';
import type { Training } from '@platform/trainer-engine/training';

/** @throws PlatformError when the dataset or the arguments are invalid. */
export async function train(training: Training, tmp: string): Promise<ClassifierEvaluation> {
  const { job, events, clock, threads } = training;
  const started = clock.now();
  const { requested, unknown } = parseRecipeArguments(job);
  warnOfUnknown(training, unknown);
  const progress = new Progress(events, clock);
  const backbone = readEfficientnet();
  const { recipe, prepared } = await prepare(training, requested, tmp, progress);
  try {
    const { labels, train: examples, validation, test, skipped } = prepared;
    const counts = `${examples.length} training, ${validation.length} validation, ${test.length} test images`;
    const message = `${labels.length} labels, ${counts}, ${skipped.length} skipped; ${recipe.side} px, at most ${recipe.epochs} epochs, ${threads} threads`;
    events.emit({ is: 'log', level: 'info', message });
    const device = await openDevice(training, () =>
      trialStep(backbone, { batch: recipe.batch, side: recipe.side, classes: labels.length }, recipe.freezeUntil),
    );
    const run = { training, device, recipe, backbone, readBackbone: () => readEfficientnet(), tmp, prepared, progress };
    const delivered = await trainByRecipe(run);
    const { networks } = delivered;
    if (networks) {
      const text = `Delivers the ${networks.chosen} network. ${networks.reason}`;
      events.emit({ is: 'log', level: 'info', message: text });
    }
    try {
      return await exportModel(delivered, started);
    } finally {
      await delivered.trained.release();
    }
  } finally {
    prepared.close();
  }
}

async function exportModel(delivered: DeliveredNetwork, started: number): Promise<ClassifierEvaluation> {
  const { run, trained, networks } = delivered;
  const { training, recipe, backbone, prepared } = run;
  const { job, outFolder, clock, events } = training;
  const thresholds = await thresholdsByStage(trained, prepared);
  const unlike = await findUnlike(run, trained);
  const classifier = delivered.classifier({
    unlike: unlike?.reference,
    metadata: {
      ...metadataOf(job, prepared.labels, thresholds?.get(trained.chosen)),
      ...(unlike && { unlike_threshold: String(unlike.threshold) }),
    },
  });
  const models = {
    onnx: exportOnnx(classifier),
    tflite: job.framework === 'onnx' ? undefined : exportTflite(classifier),
  };
  const exported = await writeModels(outFolder, job.model_name, models);
  const crossValidation = await crossValidate(run, trained);
  const measured = await measure(run, trained, models, unlike);
  const { chosen } = trained;
  const own = { classifier, measured, chosen, thresholds: thresholds?.get(chosen), started };
  const int8 = await exportInt8Classifier(run, own);
  run.progress.update('int8', 1);
  const built = buildEvaluation({
    ...run,
    trained: trained,
    thresholds,
    unlike,
    networks,
    exported,
    int8,
    measured,
    advice: [
      ...smallImagesAdvice(prepared.edge, recipe.side),
      ...labelAdvice(
        prepared.labels,
        (label) => labelMinimum.count([...prepared.train, ...prepared.validation], label),
        'images',
      ),
    ],
    seconds: (clock.now() - started) / 1000,
  });
  const evaluation = { ...built, ...crossValidation };
  for (const message of scoreWarnings(evaluation)) events.emit({ is: 'log', level: 'warn', message });
  await writeModelReports(training, evaluation, recipe, backbone.license);
  return evaluation;
}
