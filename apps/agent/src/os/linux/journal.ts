import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const answerMs = 10_000;
const mostBytes = 4 * 2 ** 20;
const mostEntries = 200;

/** What the journal says of a unit's run before this one, systemd's own words included; oldest first. */
export async function lastWordsOf(unit: string, env: NodeJS.ProcessEnv): Promise<readonly string[]> {
  const thisRun = env['INVOCATION_ID'];
  if (thisRun === undefined) return []; // nobody who keeps a journal started this agent
  const args = ['-u', unit, '-o', 'json', '-n', String(mostEntries), '--no-pager'];
  const { stdout } = await promisify(execFile)('journalctl', args, { timeout: answerMs, maxBuffer: mostBytes });
  return lastRun(stdout, thisRun);
}

/** Of `journalctl -o json`: the messages of the newest run that is not `thisRun`. */
export function lastRun(output: string, thisRun: string): readonly string[] {
  const entries = output.split('\n').flatMap((line) => {
    const entry = entryOf(line);
    return entry && entry.run !== thisRun ? [entry] : [];
  });
  const last = entries.at(-1)?.run;
  return entries.filter(({ run }) => run === last).map(({ text }) => text);
}

function entryOf(line: string): { run: string; text: string } | undefined {
  let json: unknown;
  try {
    json = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (typeof json !== 'object' || json === null) return undefined;
  const { MESSAGE: message, _SYSTEMD_INVOCATION_ID: own, INVOCATION_ID: told } = json as Record<string, unknown>;
  // Lines of the unit carry its own run, those of systemd about the unit the one they tell of.
  const run = typeof told === 'string' ? told : own;
  // Bytes that are no text come as a list of numbers.
  const text = Array.isArray(message) ? Buffer.from(message as number[]).toString('utf8') : message;
  return typeof run === 'string' && typeof text === 'string' ? { run, text } : undefined;
}
