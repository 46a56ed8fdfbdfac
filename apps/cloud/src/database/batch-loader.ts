import { isDatabaseAway } from './database.ts';

/**
 * Batcher: combines requests that arrive while a batch is running into the next batch. A request without a running
 * batch starts immediately.
 *
 * @param load - returns results in the order of the items.
 */
export function batchLoader<I, O>(
  load: (items: readonly I[]) => Promise<readonly O[]>,
  mostAtOnce = 500,
): (item: I) => Promise<O> {
  type PendingItem = { item: I; resolve: (answer: O) => void; reject: (error: unknown) => void };
  const waiting: PendingItem[] = [];
  const state = { isLoading: false };

  const settle = async (batch: readonly PendingItem[]): Promise<void> => {
    try {
      const answers = await load(batch.map(({ item }) => item));
      for (const [n, { resolve }] of batch.entries()) resolve(answers[n] as O);
    } catch (error) {
      // One invalid item must not fail the others.
      if (batch.length > 1 && !isDatabaseAway(error)) for (const one of batch) await settle([one]);
      else for (const { reject } of batch) reject(error);
    }
  };
  const loadAll = async (): Promise<void> => {
    state.isLoading = true;
    while (waiting.length > 0) await settle(waiting.splice(0, mostAtOnce));
    state.isLoading = false;
  };
  return (item) =>
    new Promise<O>((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (!state.isLoading) void loadAll();
    });
}

/** A `batchLoader` of items that have no answer. */
export const batchWriter = <I>(save: (items: readonly I[]) => Promise<void>): ((item: I) => Promise<void>) =>
  batchLoader(async (items: readonly I[]): Promise<readonly void[]> => {
    await save(items);
    return items.map(() => undefined);
  });
