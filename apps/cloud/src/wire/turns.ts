/** Runs work in order, a few pieces in each turn of the event loop, so that other connections are served in between. */
export type Turns = {
  /** Runs the work now, or after the work of others with other keys. Work of one key stays in order. */
  run(key: string, work: () => void): void;
};

/**
 * Without it, all requests of one read run before the next connection is read: 6,000 in one write kept the server busy
 * for 4 s.
 *
 * @param atOnce - pieces in one turn of the event loop.
 * @param nextTurn - calls back in the next turn of the event loop.
 */
export function turns(atOnce: number, nextTurn: (then: () => void) => void): Turns {
  const waiting = new Map<string, (() => void)[]>();
  const turn = { ran: 0, isAwaited: false };
  const awaitTurn = (): void => {
    if (turn.isAwaited) return;
    turn.isAwaited = true;
    nextTurn(runNext);
  };
  const runNext = (): void => {
    Object.assign(turn, { ran: 0, isAwaited: false });
    for (let [next] = waiting; next && turn.ran < atOnce; [next] = waiting) {
      const [key, works] = next;
      // The last of the round: other keys come first.
      waiting.delete(key);
      const work = works.shift();
      if (works.length > 0) waiting.set(key, works);
      turn.ran++;
      awaitTurn();
      work?.();
    }
    if (waiting.size > 0) awaitTurn();
  };
  return {
    run(key, work) {
      if (waiting.size === 0 && turn.ran < atOnce) {
        turn.ran++;
        awaitTurn();
        return work();
      }
      const works = waiting.get(key);
      if (works) works.push(work);
      else waiting.set(key, [work]);
      awaitTurn();
    },
  };
}
