// How page and command line say whether the saved configuration is in effect. The management server derives the
// status; clients add times only.
import { ConfigState, type ConfigStatus } from '../gen/platform/fleet/v1/fleet_pb.ts';

/** A clause without times, for example "revision 5 in effect". Undefined: the management server is older. */
export function configStatusText(status: ConfigStatus | undefined): string {
  if (!status) return 'not known: the management server is older and does not report it';
  if (status.state === ConfigState.NONE_SAVED) return 'none saved yet, the defaults hold';
  return `revision ${status.savedRevision} ${effectText(status)}`;
}

/** The same without the number, for example "in effect" or "not confirmed: the machine is offline". */
export function effectText(status: ConfigStatus): string {
  const { state, reason, wasInEffect } = status;
  switch (state) {
    case ConfigState.IN_EFFECT:
      return `in effect${problemText(status)}`;
    case ConfigState.PARTLY_IN_EFFECT:
      return `partly in effect${problemText(status)}`;
    case ConfigState.APPLYING:
      return `saved, not in effect yet: ${reason}${actingText(status)}`;
    case ConfigState.NOT_IN_EFFECT:
      return `saved, not in effect: ${reason}${actingText(status)}`;
    case ConfigState.NUMBER_ONLY:
      return `saved, not confirmed: ${reason}`;
    case ConfigState.UNKNOWN:
      return `saved, not confirmed: ${reason}${wasInEffect ? '; it was in effect at the last report' : ''}`;
    default:
      return `saved; this program does not know the state ${state}, update it`;
  }
}

function actingText({ isCurrent, actingRevision, savedRevision }: ConfigStatus): string {
  const isEarlier = isCurrent && actingRevision > 0n && actingRevision !== savedRevision;
  return isEarlier ? `; revision ${actingRevision} is` : '';
}

/** The failure that stands beside "in effect". */
function problemText({ problem, problemCount }: ConfigStatus): string {
  if (!problem) return '';
  const { path, message } = problem;
  const place = path === '' || message.includes(path) ? '' : `${path}: `;
  const more = problemCount > 1 ? ` (and ${problemCount - 1} more)` : '';
  return `, but ${place}${message.replace(/\.$/, '')}${more}`;
}

/** Number of the saved configuration that the machine has in effect now; empty: none, or not known. */
export function numberInEffect(status: ConfigStatus | undefined): string {
  if (!status?.isCurrent || status.actingRevision === 0n || status.state === ConfigState.NUMBER_ONLY) return '';
  return String(status.actingRevision);
}
