import { isUtf8 } from 'node:buffer';
import { submissionProblem } from '../network/endpoints/submission.ts';
import type { ProvisioningView, Submission } from '../network/endpoints/provisioning-view.ts';

/** Networks that need no password. */
const isOpen = (security: string): boolean => security === 'open' || security === 'owe';

/** Networks that the portal can hand over. */
export const canJoin = (security: string): boolean => isOpen(security) || security === 'wpa-psk' || security === 'sae';

/** SSIDs travel in forms as hexadecimal UTF-8: a form changes line ends and loses NUL. */
export const pickOf = (ssid: string): string => Buffer.from(ssid).toString('hex');

/**
 * What the fields of the form mean. `pick` is a network of the list; `ssid` is a name that was typed, or the field of
 * scripts written for other agents, as are `password`, `viamconfig` and `platformconfig`.
 */
export function readEntered(
  fields: ReadonlyMap<string, string>,
  view: ProvisioningView,
): { is: 'submission'; submission: Submission } | { is: 'problem'; text: string } {
  const problem = (text: string) => ({ is: 'problem', text }) as const;
  const field = (name: string): string => fields.get(name) ?? '';
  const pick = field('pick');
  const picked = Buffer.from(pick, 'hex');
  if (!isUtf8(picked)) return problem('Choose a network from the list, or enter its name.');
  const ssid = pick === '' ? field('ssid') : picked.toString('utf8');
  const credentials = field('platformconfig').trim() || field('viamconfig').trim();
  if (credentials !== '' && view.hasCredentials) {
    return problem('This device already has credentials. They cannot be replaced on this page.');
  }
  if (ssid === '' && !view.isOnline) return problem('Choose a network, or enter the name of a hidden one.');
  if (credentials === '' && !view.hasCredentials && !view.hasUnprovenCredentials) {
    return problem(
      'Enter the set-up code or the credentials of the device. The management app shows them when you add a device.',
    );
  }
  if (ssid === '' && credentials === '') return problem('Nothing was entered. Choose a network.');
  const known = view.networks.find((network) => network.ssid === ssid);
  if (known && !canJoin(known.security))
    return problem(`${ssid} cannot be set up here: it needs more than a password.`);
  const psk = known && isOpen(known.security) ? '' : field('password');
  if (known && !isOpen(known.security) && psk === '') return problem(`${ssid} needs a password.`);
  const submission: Submission = {
    ...(ssid !== '' && { wifi: { ssid, psk, isHidden: known === undefined } }),
    ...(credentials !== '' && { credentials }),
  };
  const wrong = submissionProblem(submission);
  return wrong === undefined ? { is: 'submission', submission } : problem(wrong);
}
