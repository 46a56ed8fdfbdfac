import program from '../package.json' with { type: 'json' };

/** Set in release builds; a program run from source uses the version of its package. */
declare const PLATFORM_RELEASE_VERSION: string | undefined;

export const version: string =
  typeof PLATFORM_RELEASE_VERSION === 'string' ? PLATFORM_RELEASE_VERSION : program.version;
