import { PlatformError } from '@platform/contract/errors/errors';

/** A field of a request has a value that it must not have. @param limit - the values that it may have. */
export const invalidArgument = (field: string, value: string | number, limit: string): PlatformError =>
  new PlatformError('INVALID_ARGUMENT', { field, value, limit });
