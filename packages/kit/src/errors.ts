/** One line for a log or a report: the message and its causes, innermost last. */
export function errorText(error: unknown): string {
  const parts: string[] = [];
  let e: unknown = error;
  for (let depth = 0; e !== undefined && e !== null && depth < 5; depth++) {
    const text = e instanceof Error ? e.message || e.name : typeof e === 'string' ? e : JSON.stringify(e);
    if (text !== undefined && !parts.some((p) => p.includes(text))) parts.push(text);
    e = e instanceof Error ? e.cause : undefined;
  }
  return parts.join(': ') || String(error);
}

/** True for the error of an aborted signal (fetch, streams, timers). */
export const isAbort = (error: unknown): boolean => error instanceof Error && error.name === 'AbortError';

/** The compiler checks that a `switch` over a union is complete; at run time the error names the unexpected value. */
export function assertNever(x: never): never {
  throw new Error(`unexpected ${JSON.stringify(x)}`);
}
