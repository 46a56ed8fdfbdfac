import program from '../../package.json' with { type: 'json' };

/** Set by the release build. A program that runs from source has the version of its package. */
declare const PLATFORM_RELEASE_VERSION: string | undefined;

export const version: string =
  typeof PLATFORM_RELEASE_VERSION === 'string' ? PLATFORM_RELEASE_VERSION : program.version;
