/**
 * The limits of log lines, from a program's output to the store of the management server. Agent, machine server, management server and
 * documentation use this table and no other.
 */
export const logLimits = {
  /** UTF-8 bytes of a message; also of a stack trace. What is longer is cut and marked. */
  messageBytes: 64 * 1024,
  /** Bytes as JSON of all fields of a line together; also of its caller. */
  fieldsBytes: 64 * 1024,
  /** Characters of a host, logger or boot ID. */
  nameCharacters: 256,
  /** Lines of one RobotService.Log call. */
  linesPerCall: 1_000,
  /** Lines that wait on the disk of a machine for the management server. */
  spoolBytes: 16 * 2 ** 20,
  /** What a machine server wrote while no agent ran. */
  outputBytes: 16 * 2 ** 20,
  /** What a machine server may write at once … */
  burstLines: 5_000,
  burstBytes: 2 * 2 ** 20,
  /** … and in each second on the long run. */
  linesPerSecond: 500,
  bytesPerSecond: 128_000,
  /** A machine server without an agent keeps so many unsent lines in its memory. */
  unsentLines: 20_000,
} as const;

const encoder = new TextEncoder();
/** For the mark at the end of a line that was cut. */
const markBytes = 64;

/** At most `messageBytes` bytes, cut between two characters; what was cut once is not cut again. */
export function cutText(text: string, limitBytes: number = logLimits.messageBytes): string {
  if (text.length * 3 <= limitBytes) return text;
  const bytes = new Uint8Array(limitBytes);
  if (encoder.encodeInto(text, bytes).read === text.length) return text;
  const { read } = encoder.encodeInto(text, bytes.subarray(0, limitBytes - markBytes));
  return `${text.slice(0, read)}… (cut: ${text.length} characters)`;
}

/** The fields of a line, or a note in their place where they are too large. */
export function boundedFields<T extends object>(fields: readonly T[]): readonly T[] | readonly [{ left_out: string }] {
  const json = JSON.stringify(fields);
  if (fitsIn(json, logLimits.fieldsBytes)) return fields;
  return [{ left_out: `${json.length} characters in ${fields.length} fields` }];
}

/** The caller of a line, or a note in its place where it is too large. */
export function boundedCaller<T extends object>(caller: T): T | { left_out: string } {
  const json = JSON.stringify(caller);
  return fitsIn(json, logLimits.fieldsBytes) ? caller : { left_out: `${json.length} characters` };
}

function fitsIn(text: string, bytes: number): boolean {
  if (text.length * 3 <= bytes) return true;
  return text.length <= bytes && encoder.encode(text).length <= bytes;
}
