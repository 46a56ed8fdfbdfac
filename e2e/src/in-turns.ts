const atOnce = 16;

/** Makes many of the same, some at a time. */
export async function inTurns(count: number, make: (n: number) => Promise<unknown>): Promise<void> {
  const next = { n: 0 };
  const work = async (): Promise<void> => {
    while (next.n < count) await make(next.n++);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}
