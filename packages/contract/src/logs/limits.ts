/**
 * The limits of log lines, from a program's output to the store of the management server. Agent, machine server,
 * management server and documentation all use this table.
 */
export const logLimits = {
  /** UTF-8 bytes of a message or a stack trace. Longer ones are truncated and marked. */
  messageBytes: 64 * 1024,
  /** JSON bytes of all fields of a line; also of its caller. */
  fieldsBytes: 64 * 1024,
  /** Characters of a host name, logger name or boot ID. */
  nameCharacters: 256,
  /** Lines of one RobotService.Log call. */
  linesPerCall: 1_000,
  /** Log spool on the disk of a machine. */
  spoolBytes: 16 * 2 ** 20,
  /** Output of a machine server while no agent runs. */
  outputBytes: 16 * 2 ** 20,
  /** Burst of a machine server's output … */
  burstLines: 5_000,
  burstBytes: 2 * 2 ** 20,
  /** … and its sustained rate. */
  linesPerSecond: 500,
  bytesPerSecond: 128_000,
  /** Unsent lines that a machine server without an agent keeps in memory. */
  unsentLines: 20_000,
} as const;

const encoder = new TextEncoder();
/** Reserved for the mark of a truncated line. */
const markBytes = 64;

/**
 * Truncates to `messageBytes` bytes between two characters; a truncated text stays unchanged.
 *
 * @param characters - of the text before an earlier cut: if it had more, it is marked also where the rest fits.
 */
export function cutText(text: string, limitBytes: number = logLimits.messageBytes, characters = text.length): string {
  const isWhole = characters === text.length;
  if (isWhole && text.length * 3 <= limitBytes) return text;
  const bytes = new Uint8Array(limitBytes);
  if (isWhole && encoder.encodeInto(text, bytes).read === text.length) return text;
  const { read } = encoder.encodeInto(text, bytes.subarray(0, limitBytes - markBytes));
  return `${text.slice(0, read)}… (cut: ${characters} characters)`;
}

/** The fields of a line, or a note instead if they are too large. */
export function boundedFields<T extends object>(fields: readonly T[]): readonly T[] | readonly [{ left_out: string }] {
  const json = JSON.stringify(fields);
  if (fitsIn(json, logLimits.fieldsBytes)) return fields;
  return [{ left_out: `${json.length} characters in ${fields.length} fields` }];
}

/** The caller of a line, or a note instead if it is too large. */
export function boundedCaller<T extends object>(caller: T): T | { left_out: string } {
  const json = JSON.stringify(caller);
  return fitsIn(json, logLimits.fieldsBytes) ? caller : { left_out: `${json.length} characters` };
}

function fitsIn(text: string, bytes: number): boolean {
  if (text.length * 3 <= bytes) return true;
  return text.length <= bytes && encoder.encode(text).length <= bytes;
}
