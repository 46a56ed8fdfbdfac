import { PackageType } from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import type { PackageKind } from '../database/training-schema.ts';

/** Package types of the wire and their stored names. */
export const kindOfType: ReadonlyMap<PackageType, PackageKind> = new Map([
  [PackageType.ARCHIVE, 'archive'],
  [PackageType.ML_MODEL, 'ml_model'],
  [PackageType.MODULE, 'module'],
  [PackageType.SLAM_MAP, 'slam_map'],
  [PackageType.ML_TRAINING, 'ml_training'],
]);

export const typeOfKind = new Map([...kindOfType].map(([type, kind]) => [kind, type]));
