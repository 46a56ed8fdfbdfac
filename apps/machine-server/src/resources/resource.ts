import type { ModelOrigin } from '../plans/resources.ts';
import type { PictureFormat } from '../pictures/picture.ts';
import type { Reading } from './prediction.ts';

/** A picture as a camera gave it. */
export interface CameraPicture {
  readonly bytes: Uint8Array;
  readonly format: PictureFormat;
  /** File name or address, for logs. */
  readonly source: string;
}

export interface Camera {
  /** @throws PlatformError CAMERA_FAILED */
  picture(signal: AbortSignal): Promise<CameraPicture>;
}

export interface Sensor {
  readings(signal: AbortSignal): Promise<Readonly<Record<string, unknown>>>;
}

export type Prediction = Reading &
  ModelOrigin & {
    /** From the file's bytes to the answer. */
    readonly milliseconds: number;
  };

export interface Model {
  readonly origin: ModelOrigin;
  readonly labels: readonly string[];
  /** @throws PlatformError INVALID_PICTURE */
  predict(bytes: Uint8Array, name: string): Promise<Prediction>;
}

/** What others may use of a running resource. */
export type Offer =
  | { readonly is: 'camera'; readonly camera: Camera }
  | { readonly is: 'sensor'; readonly sensor: Sensor }
  | { readonly is: 'model'; readonly model: Model }
  /** It works by itself and offers nothing. */
  | { readonly is: 'task' };

export interface Resource {
  readonly offer: Offer;
  /** Why it cannot do its work now; undefined: it can, or has no work of its own. */
  readonly failure?: () => unknown;
  /** Ends what it does and lets go of what it holds. */
  stop(): Promise<void>;
}
