import { PlatformError } from '@platform/contract/errors/errors';

/** The error for an existing version, by type of package. */
export function versionTaken(of: {
  type: string;
  name: string;
  version: string;
  jobId?: string | null;
}): PlatformError {
  const { type, name, version, jobId } = of;
  if (type === 'ml_model')
    return new PlatformError('MODEL_VERSION_TAKEN', {
      modelName: name,
      modelVersion: version,
      ...(jobId && { jobId }),
    });
  const kind = type === 'ml_training' ? 'training script' : 'package';
  return new PlatformError('SCRIPT_VERSION_TAKEN', { kind, name, version });
}
