import { configStatusText, effectText, numberInEffect } from '@platform/contract/config/status';
import { ConfigState } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { ConfigStatus } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { Tone } from '../../ui/status-label.ts';
import { msOf } from '../../ui/times.ts';

/** Whether the saved configuration is in effect, as the management server derives it. Times in ms since 1970. */
export interface ConfigView {
  /** "revision 5 in effect" */
  text: string;
  /** "in effect" */
  effect: string;
  tone: Tone;
  isInEffect: boolean;
  isPartly: boolean;
  /** Number of the newest saved revision, 0: none. */
  saved: bigint;
  /** For lists: "5", "4 → 5"; "? → 5" if it is not known what is in effect. */
  short: string;
  /** Number of the saved configuration that is in effect now; empty: none, or not known. */
  inEffect: string;
  since: number | undefined;
  /** When the machine reported this; undefined: it has not. */
  measured: number | undefined;
  /** False: what is shown is of `measured`, and says nothing of now. */
  isCurrent: boolean;
  /** Conditions of the report refer to the saved configuration. */
  isReceived: boolean;
}

const tones: Readonly<Record<number, Tone>> = {
  [ConfigState.IN_EFFECT]: 'good',
  [ConfigState.PARTLY_IN_EFFECT]: 'warn',
  [ConfigState.APPLYING]: 'busy',
  [ConfigState.NOT_IN_EFFECT]: 'bad',
};

export function configView(status: ConfigStatus | undefined): ConfigView {
  const state = status?.state ?? ConfigState.UNSPECIFIED;
  const isPartly = state === ConfigState.PARTLY_IN_EFFECT;
  const isInEffect = state === ConfigState.IN_EFFECT || isPartly;
  const saved = status?.savedRevision ?? 0n;
  const inEffect = numberInEffect(status);
  return {
    text: configStatusText(status),
    effect: status ? effectText(status) : configStatusText(status),
    tone: isInEffect && status?.problem ? 'warn' : (tones[state] ?? 'quiet'),
    isInEffect,
    isPartly,
    saved,
    short: saved === 0n ? 'none' : isInEffect ? String(saved) : `${inEffect || '?'} → ${saved}`,
    inEffect: isInEffect ? String(saved) : inEffect,
    since: msOf(status?.since),
    measured: msOf(status?.measuredOn),
    isCurrent: status?.isCurrent ?? false,
    isReceived: status?.isReceived ?? false,
  };
}
