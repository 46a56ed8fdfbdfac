// Certificates and keys of enterprise networks, before a network is joined with them.
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import type { ConditionCode } from '@platform/contract/conditions/conditions';
import { changedOr, type Cell, type Clock } from '@platform/kit';
import { clearCondition, setCondition, type ConditionSet } from '../../health/condition-set.ts';
import type { AdditionalNetwork, NetworkSettings } from './network-settings.ts';

const unusableCode = 'NETWORK_CERTIFICATE_UNUSABLE';
const expiredCode = 'NETWORK_CERTIFICATE_EXPIRED';
export const certificateCheckMs = 6 * 60 * 60_000;

type EnterpriseFields = Pick<
  AdditionalNetwork,
  'eap_method' | 'eap_ca_certificate' | 'eap_client_certificate' | 'eap_client_key' | 'eap_client_key_password'
>;

const block = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

function certificatesIn(pem: string): X509Certificate[] | undefined {
  try {
    return (pem.match(block) ?? []).map((text) => new X509Certificate(text));
  } catch {
    return undefined;
  }
}

/** Undefined: the password does not open it, or it is not a key. */
function keyIn(pem: string, password: string): KeyObject | undefined {
  try {
    return createPrivateKey({ key: pem, ...(password !== '' && { passphrase: password }) });
  } catch {
    return undefined;
  }
}

/** Why no server can accept these fields, as a clause without any value of them; undefined: they fit. */
export function certificateProblem(network: EnterpriseFields): string | undefined {
  const { eap_method: method, eap_client_key: keyText, eap_client_key_password: password } = network;
  for (const field of [
    'eap_ca_certificate',
    ...(method === 'tls' ? (['eap_client_certificate'] as const) : []),
  ] as const)
    if (certificatesIn(network[field]) === undefined) return `${field} is damaged: it is not a certificate`;
  if (method !== 'tls') return undefined;
  const key = keyIn(keyText, password);
  if (!key)
    return /ENCRYPTED/.test(keyText)
      ? 'eap_client_key is damaged, or eap_client_key_password does not open it'
      : 'eap_client_key is damaged: it is not a private key';
  const [own] = certificatesIn(network.eap_client_certificate) ?? [];
  return own?.checkPrivateKey(key) ? undefined : 'eap_client_key does not belong to eap_client_certificate';
}

/** The first certificate that has expired; undefined: none. */
export function expiredCertificate(
  network: EnterpriseFields,
  wall: number,
): { field: 'eap_client_certificate' | 'eap_ca_certificate'; day: string } | undefined {
  if (network.eap_method === '') return undefined;
  const fields =
    network.eap_method === 'tls'
      ? (['eap_client_certificate', 'eap_ca_certificate'] as const)
      : (['eap_ca_certificate'] as const);
  for (const field of fields) {
    const ends = (certificatesIn(network[field]) ?? []).map(({ validTo }) => Date.parse(validTo));
    // One valid authority is enough; of the machine's own chain, the first one is its own.
    const end = field === 'eap_ca_certificate' ? Math.max(...ends) : ends[0];
    if (end !== undefined && end < wall && Number.isFinite(end))
      return { field, day: new Date(end).toISOString().slice(0, 10) };
  }
  return undefined;
}

/** The settings without the networks that no server can accept; each of them is one condition. */
export function withUsableNetworks(settings: NetworkSettings, conditions: ConditionSet): NetworkSettings {
  const problems = new Map<string, string>();
  for (const network of settings.isDisabled ? [] : settings.additional) {
    const problem = certificateProblem(network);
    if (problem !== undefined) problems.set(network.name, problem);
  }
  clearOthers(conditions, unusableCode, problems);
  for (const [network, reason] of problems) {
    setCondition(conditions, unusableCode, { network, reason }, { subject: network });
  }
  if (problems.size === 0) return settings;
  return {
    ...settings,
    additional: settings.additional.filter(({ name }) => !problems.has(name)),
    unusable: settings.additional.flatMap((network) => {
      const reason = problems.get(network.name);
      return reason === undefined ? [] : [{ network, code: unusableCode, reason }];
    }),
  };
}

function clearOthers(conditions: ConditionSet, code: ConditionCode, kept: ReadonlyMap<string, unknown>): void {
  for (const condition of conditions.get())
    if (condition.code === code && !kept.has(condition.subject ?? ''))
      clearCondition(conditions, code, condition.subject);
}

export interface CertificateParts {
  settings: Cell<NetworkSettings>;
  conditions: ConditionSet;
  clock: Clock;
}

/**
 * Names expired certificates. Their networks are tried nevertheless: on a machine without a battery clock the time may
 * be wrong, and its only network must not depend on that.
 */
export async function keepCertificates(parts: CertificateParts, signal: AbortSignal): Promise<void> {
  const { settings, conditions, clock } = parts;
  while (!signal.aborted) {
    const goal = settings.get();
    const expired = new Map(
      (goal.isDisabled ? [] : goal.additional).flatMap((network) => {
        const found = expiredCertificate(network, clock.wall());
        return found ? [[network.name, found] as const] : [];
      }),
    );
    clearOthers(conditions, expiredCode, expired);
    for (const [network, found] of expired) {
      setCondition(conditions, expiredCode, { network, ...found }, { subject: network });
    }
    const hasAny = goal.additional.some(({ eap_method: method }) => method !== '');
    if (settings.get() !== goal) continue;
    await (hasAny ? changedOr(settings, certificateCheckMs, clock, signal) : settings.changed(signal));
  }
}
