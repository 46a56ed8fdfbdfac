import { PlatformError } from '@platform/contract/errors';

const mark = Symbol('answers UNIMPLEMENTED');

/** A call of the public protocol that this server does not offer, with a reason; no document lists it. */
export const unsupported = (what: string): (() => Promise<never>) =>
  Object.assign(
    async (): Promise<never> => {
      throw new PlatformError('UNSUPPORTED', { what });
    },
    { [mark]: true },
  );

export const isUnsupported = (handler: unknown): boolean => typeof handler === 'function' && mark in handler;
