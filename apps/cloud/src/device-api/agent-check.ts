import { fromBinary } from '@bufbuild/protobuf';
import { durationMs } from '@bufbuild/protobuf/wkt';
import {
  type DeviceAgentConfigRequest,
  DeviceAgentConfigRequestSchema,
} from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { longestHoldMs } from '@platform/kit';
import type { PartRuns } from '../machines/part-runs.ts';
import type { Presence } from '../machines/presence.ts';
import { runIdOf } from '../machines/store/part-runs.ts';
import { type AgentAnswers, type Answer, type Ask, sameBytes, wholeBytes } from './agent-answers.ts';
import { askOf, runCheckOf } from './agent-service.ts';
import type { Check, Present, ReadCheck } from './check.ts';
import type { PersonalAnswers } from './personal-answers.ts';
import type { ReportedHosts } from './reported-hosts.ts';

/** `personal`: encoded fields for this run alone; undefined: none. */
type Found = Present & { answer: Answer; personal: Uint8Array | undefined };

const joined = (bytes: Uint8Array, { personal }: Pick<Found, 'personal'>): Uint8Array =>
  personal === undefined ? bytes : Buffer.concat([bytes, personal]);

/**
 * Caches one response. The interval is the same for all machines and changes slowly. Machines with the same
 * configuration get the same bytes.
 */
function unchangedBytes(presence: Pick<Presence, 'checkMs'>): (found: Present) => Uint8Array {
  const last = { fingerprint: '', isUrgent: false, checkMs: 0, bytes: new Uint8Array() };
  return ({ fingerprint, isUrgent }) => {
    const checkMs = presence.checkMs();
    if (last.fingerprint !== fingerprint || last.isUrgent !== isUrgent || last.checkMs !== checkMs) {
      const bytes = sameBytes({ fingerprint, isRestartWanted: isUrgent }, checkMs);
      Object.assign(last, { fingerprint, isUrgent, checkMs, bytes });
    }
    return last.bytes;
  };
}

type Sources = {
  answers: AgentAnswers;
  hosts: ReportedHosts;
  runs: Pick<PartRuns, 'noteCheck' | 'wantsReport' | 'isSecond'>;
  personal: PersonalAnswers;
  presence: Pick<Presence, 'checkMs' | 'sent'>;
};

/** What all checks share. `same`: the encoded message for an unchanged configuration. */
type Shared = Sources & { same: (found: Present) => Uint8Array };

class AgentCheck implements Check {
  readonly known: string;
  readonly waitMs: number;
  readonly #of: Shared;
  readonly #ask: Ask;
  readonly #runId: string | undefined;

  constructor(of: Shared, ask: Ask, { knownFingerprint, wait, runId }: DeviceAgentConfigRequest) {
    this.#of = of;
    this.#ask = ask;
    this.#runId = runIdOf(runId);
    this.known = knownFingerprint;
    this.waitMs = wait ? Math.min(durationMs(wait), longestHoldMs) : 0;
  }
  get partId(): string {
    return this.#ask.partId;
  }
  now(): Found | undefined {
    const { answers, personal, runs } = this.#of;
    const answer = answers.known(this.#ask);
    const { partId } = this;
    if (!answer || personal.isUrgent(answer, this.#runId) || runs.wantsReport(partId, this.#runId)) return undefined;
    return { answer, fingerprint: answer.fingerprint, isUrgent: answer.isRestartWanted, personal: undefined };
  }
  async look(): Promise<Found> {
    const { answers, personal } = this.#of;
    const answer = await answers.answer(this.#ask);
    const bytes = await personal.bytes({ partId: this.partId, runId: this.#runId }, answer);
    return {
      answer,
      fingerprint: answer.fingerprint,
      isUrgent: answer.isRestartWanted || personal.isUrgent(answer, this.#runId),
      personal: bytes.length > 0 ? bytes : undefined,
    };
  }
  same(found: Found): Uint8Array {
    return joined(this.#of.same({ ...found, isUrgent: found.answer.isRestartWanted }), found);
  }
  whole(found: Found): Uint8Array {
    const { hosts, presence, runs } = this.#of;
    const { answer } = found;
    if (!runs.isSecond(this.#ask.partId, this.#runId)) presence.sent(this.#ask.partId);
    if (this.#ask.product !== 'platform') hosts.sent(this.#ask.partId, answer.revision);
    return joined(wholeBytes(answer, presence.checkMs()), found);
  }
  watch(wake: () => void): () => void {
    return this.#of.answers.watch(this.#ask.partId, wake);
  }
}

/** Checks of agents. A request with a report, or the last one of an agent that is removed, is not a check. */
export function agentChecks(of: Sources): ReadCheck {
  const { hosts, runs } = of;
  const shared = { ...of, same: unchangedBytes(of.presence) };
  return (body, { baseUrl, address, cameBy }) => {
    const asked = fromBinary(DeviceAgentConfigRequestSchema, body);
    if (asked.id === '' || asked.report || asked.uninstalled || asked.asksMigration) return undefined;
    return {
      check: new AgentCheck(shared, askOf(asked, asked.id, { baseUrl, readsSecrets: true }), asked),
      isKnown: hosts.isKnown(asked.id, asked, cameBy),
      note: () => runs.noteCheck(runCheckOf(asked, asked.id, address)),
      save: () => hosts.save(asked.id, asked, cameBy),
    };
  };
}
