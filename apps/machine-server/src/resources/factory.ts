import type { Clock, Log } from '@platform/kit';
import path from 'node:path';
import type { CaptureSpool } from '../captures/spool.ts';
import type { RunnableSpec } from '../plans/resources.ts';
import { folderCamera, httpCamera } from './cameras.ts';
import type { PredictedImages } from './predicted-images.ts';
import type { JpegCodec } from '../images/jpeg-codec.ts';
import type { ModelEngine } from './model-engine.ts';
import { loadModel } from './model.ts';
import { annotationsFrom, resultsAbove } from './prediction.ts';
import type { ImageAnnotations } from '../annotations.ts';
import type { Prediction, Resource } from './resource.ts';
import type { RunningResources } from './running.ts';
import { repeat } from './task.ts';
import { watchedCamera } from './watched-camera.ts';

export interface FactoryDeps {
  readonly running: RunningResources;
  readonly engine: ModelEngine;
  readonly jpeg: JpegCodec;
  readonly spool: CaptureSpool;
  /** What live views show of predictions. */
  readonly predicted: PredictedImages;
  /** Parent folder for capturing resources without a configured folder. */
  readonly captureFolder: string;
  readonly clock: Clock;
  readonly log: Log;
}

const stopNothing = async (): Promise<void> => {};

/** Spool folder of a capturing resource. */
export const spoolFolder = (captureFolder: string, spec: { name: string; folder?: string }): string =>
  path.join(spec.folder ?? captureFolder, spec.name);

/** Starts the resource that `spec` describes. @throws PlatformError MODEL_UNUSABLE */
export async function startResource(spec: RunnableSpec, deps: FactoryDeps): Promise<Resource> {
  const { clock } = deps;
  switch (spec.is) {
    case 'folder camera':
      return watchedCamera(folderCamera({ ...spec, clock }), { clock, log: deps.log.child(spec.name) });
    case 'http camera':
      return watchedCamera(httpCamera({ ...spec, clock }), { clock, log: deps.log.child(spec.name) });
    case 'fake sensor':
      return { offer: { is: 'sensor', sensor: { readings: async () => spec.readings } }, stop: stopNothing };
    case 'model': {
      const { model, release } = await loadModel(spec, deps);
      return { offer: { is: 'model', model }, stop: release };
    }
    case 'classifier':
      return classifier(spec, deps);
    case 'capture':
      return capture(spec, deps);
  }
}

function classifier(spec: Extract<RunnableSpec, { is: 'classifier' }>, deps: FactoryDeps) {
  const { running, clock, log: parent } = deps;
  const log = parent.child(spec.name);
  return repeat(spec.everyMs, { clock, log }, async (signal) => {
    const { bytes, source } = await running.get('camera', spec.camera).camera.image(signal);
    const takenAt = clock.now();
    const prediction = await running.get('model', spec.model).model.predict(bytes, source);
    notePredicted(deps, { ...spec, bytes, source, takenAt, prediction });
    const results = resultsAbove(prediction, spec.minimumScore);
    if (results === undefined) return;
    const { model, version, milliseconds } = prediction;
    log.info('prediction', { camera: spec.camera, image: source, ...results, model, version, milliseconds });
  });
}

function capture(spec: Extract<RunnableSpec, { is: 'capture' }>, deps: FactoryDeps) {
  const { running, spool, clock } = deps;
  const log = deps.log.child(spec.name);
  const folder = spoolFolder(deps.captureFolder, spec);
  return repeat(spec.everyMs, { clock, log }, async (signal) => {
    const { bytes, format, source } = await running.get('camera', spec.camera).camera.image(signal);
    const taken = clock.wall();
    const annotating = annotate(spec, { bytes, source, takenAt: clock.now() }, deps);
    // A failed prediction must not lose the image.
    const annotations = await annotating.catch(() => undefined);
    const record = await spool.add(folder, bytes, {
      format,
      camera: spec.camera,
      taken_ms: taken,
      tags: spec.tags,
      dataset_ids: spec.datasetIds,
      ...(annotations && { annotations }),
    });
    log.debug('image captured', { file: record.file_name });
    await annotating;
  });
}

async function annotate(
  { camera, predict }: Extract<RunnableSpec, { is: 'capture' }>,
  image: { bytes: Uint8Array; source: string; takenAt: number },
  deps: FactoryDeps,
): Promise<ImageAnnotations | undefined> {
  if (predict === undefined) return undefined;
  const { model, minimumScore } = predict;
  const prediction = await deps.running.get('model', model).model.predict(image.bytes, image.source);
  notePredicted(deps, { ...image, camera, minimumScore, prediction });
  return annotationsFrom(prediction, minimumScore);
}

/** Labels of whole images are not drawn, so their images are not kept. */
function notePredicted(
  { predicted }: FactoryDeps,
  of: {
    camera: string;
    minimumScore: number;
    bytes: Uint8Array;
    source: string;
    takenAt: number;
    prediction: Prediction;
  },
): void {
  const { camera, minimumScore, bytes, source, takenAt, prediction } = of;
  if (prediction.task !== 'object_detection') return;
  const boxes = annotationsFrom(prediction, minimumScore).bboxes;
  predicted.note(camera, { bytes, source, takenAt, boxes });
}
