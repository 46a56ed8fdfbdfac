import type { ModelOrigin } from '../plans/resources.ts';
import type { ImageFormat } from '../images/image.ts';
import type { Reading } from './prediction.ts';

/** An image from a camera. */
export interface CameraImage {
  readonly bytes: Uint8Array;
  readonly format: ImageFormat;
  /** File name or URL, for logs. */
  readonly source: string;
}

export interface Camera {
  /** @throws PlatformError CAMERA_FAILED */
  image(signal: AbortSignal): Promise<CameraImage>;
}

/** A camera that can be checked without taking an image away from its readers. */
export interface SourceCamera extends Camera {
  /** @throws PlatformError CAMERA_FAILED if it would return no image now. */
  check(signal: AbortSignal): Promise<void>;
}

export interface Sensor {
  readings(signal: AbortSignal): Promise<Readonly<Record<string, unknown>>>;
}

export type Prediction = Reading &
  ModelOrigin & {
    /** Time from the file's bytes to the result. */
    readonly milliseconds: number;
  };

export interface Model {
  readonly origin: ModelOrigin;
  readonly labels: readonly string[];
  /** @throws PlatformError INVALID_IMAGE */
  predict(bytes: Uint8Array, name: string): Promise<Prediction>;
}

/** What a running resource provides to others. */
export type Offer =
  | { readonly is: 'camera'; readonly camera: Camera }
  | { readonly is: 'sensor'; readonly sensor: Sensor }
  | { readonly is: 'model'; readonly model: Model }
  /** It runs a task and provides nothing to others. */
  | { readonly is: 'task' };

export interface Resource {
  readonly offer: Offer;
  /** Why it currently cannot work; undefined if it can, or runs no task. */
  readonly failure?: () => unknown;
  /** Ends its work and releases its resources. */
  stop(): Promise<void>;
}
