import type { GetHealthResponse } from '@platform/contract/gen/platform/installation/v1/installation_pb';
import { bytes } from '../../ui/quantities.ts';
import { labelOf, type StatusLabel } from '../../ui/status-label.ts';
import { msOf, span } from '../../ui/times.ts';

const states: Readonly<Record<string, StatusLabel>> = {
  ok: { text: 'Works', tone: 'good' },
  degraded: { text: 'Works in part', tone: 'warn' },
  unavailable: { text: 'Does not work', tone: 'bad' },
  stopping: { text: 'Stops', tone: 'warn' },
};
const labels: Readonly<Record<string, string>> = { database: 'Database', blobs: 'Files', disk: 'Disk' };

/** @param isCurrent - the server has just answered. */
export function healthState({ state }: GetHealthResponse, isCurrent: boolean): StatusLabel {
  if (!isCurrent) return { text: 'Not known: it does not answer', tone: 'quiet' };
  return states[state] ?? labelOf(state, 'warn');
}

/** Names and values, in the order of the page. */
export function healthPairs(health: GetHealthResponse, now: number): [name: string, value: string][] {
  const { everyHours = 0, keep = 0 } = health.backups ?? {};
  return [
    ...health.checks.map(({ name, passed, text }): [string, string] => [
      labels[name] ?? name,
      withBytes(text) || (passed ? 'works' : 'does not work'),
    ]),
    ['Certificate', certificateText(msOf(health.certificateExpiresOn), now)],
    [
      'Backups',
      everyHours === 0 ? 'not on a schedule' : `every ${span(everyHours * 3_600_000)}, the newest ${keep} are kept`,
    ],
  ];
}

/** Probes print MiB; pages have one unit for bytes. */
const withBytes = (text: string): string =>
  text.replaceAll(/\b(\d{1,12}) MiB/g, (_, mib: string) => bytes(Number(mib) * 1024 ** 2));

function certificateText(ends: number | undefined, now: number): string {
  if (ends === undefined) return 'none, without TLS';
  return ends > now ? `expires in ${span(ends - now)}` : `expired ${span(now - ends)} ago`;
}

/** What a user must look at: the most severe first. */
export function healthWarnings(
  { problems, backups }: GetHealthResponse,
  now: number,
): { text: string; isBad: boolean }[] {
  const ofCertificate = problems.map(({ text, isFatal }) => ({ text, isBad: isFatal }));
  const ofBackups = backupWarning(backups, now);
  return [...ofCertificate, ...(ofBackups === undefined ? [] : [{ text: ofBackups, isBad: false }])].toSorted(
    (one, other) => Number(other.isBad) - Number(one.isBad),
  );
}

/** Time servers correct a clock by less. */
const skewMs = 60_000;

function backupWarning(backups: GetHealthResponse['backups'], now: number): string | undefined {
  if (backups?.problem) return backups.problem;
  if ((msOf(backups?.lastOn) ?? 0) > now + skewMs)
    return 'The time of the newest backup is in the future: the clock of the server was wrong then, or a clock is wrong now. Nothing shows how old it is.';
  if (backups?.lastOn !== undefined || (backups?.everyHours ?? 0) > 0) return undefined;
  return 'There is no backup: if this disk is lost, all machines, images and models are. Start the server with --backup-dir, or run "platform admin backup" on its host.';
}
