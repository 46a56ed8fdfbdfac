/**
 * Serializes work: each call begins when the one before it has ended, also after a failure. A failure belongs to its
 * caller, who may ignore it.
 */
export function oneAtATime(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<void> = Promise.resolve();
  return (work) => {
    const mine = last.then(() => work());
    const ended = (): void => {};
    last = mine.then(ended, ended);
    return mine;
  };
}
