import { parseSocketLine } from '@platform/contract/machine-server/log-socket';
import type { LogLine } from '@platform/kit';

/** Parses a line that the machine server sent to the socket, as the relay stored it. */
export function parseHandedOver(text: string): LogLine | undefined {
  const line = parseSocketLine(text);
  if (!line) return undefined;
  const { time, level, logger, message, fields, caller, stack } = line;
  return {
    time,
    level,
    logger,
    message,
    fields: { ...fields },
    ...(caller && { caller: { ...caller } }),
    ...(stack !== undefined && { stack }),
  };
}
