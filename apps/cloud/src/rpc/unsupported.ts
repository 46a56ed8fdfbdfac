import { PlatformError } from '@platform/contract/errors/errors';

const mark = Symbol('answers UNIMPLEMENTED');

/** Handler of a public call that this server does not offer, with the reason. Such calls appear in no document. */
export const unsupported = (what: string): (() => Promise<never>) =>
  Object.assign(
    async (): Promise<never> => {
      throw new PlatformError('CALL_NOT_OFFERED', { what });
    },
    { [mark]: true },
  );

export const isUnsupported = (handler: unknown): boolean => typeof handler === 'function' && mark in handler;
