import { errorsAToJ } from './error-rows-a-j.ts';
import { errorsKToZ } from './error-rows-k-z.ts';

export type { ErrorRow, RpcCode } from './error-row.ts';

/** Every failure a person or a program may see, alphabetical. One row = wire code + what to do. Docs and UI are made from it. */
export const errorTable = { ...errorsAToJ, ...errorsKToZ } as const;
