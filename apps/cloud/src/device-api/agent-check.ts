import { fromBinary } from '@bufbuild/protobuf';
import { durationMs } from '@bufbuild/protobuf/wkt';
import {
  type DeviceAgentConfigRequest,
  DeviceAgentConfigRequestSchema,
} from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { longestHoldMs } from '@platform/kit';
import type { Presence } from '../machines/presence.ts';
import { type AgentAnswers, type Answer, type Ask, sameBytes, wholeBytes } from './agent-answers.ts';
import { askOf } from './agent-service.ts';
import type { Check, Present, ReadCheck } from './check.ts';
import type { ReportedHosts } from './reported-hosts.ts';

type Found = Present & { answer: Answer };

const present = (answer: Answer): Found => ({
  answer,
  fingerprint: answer.fingerprint,
  isUrgent: answer.isRestartWanted,
});

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

/** Checks of agents. A request with a report, or the last one of an agent that is removed, is not a check. */
export function agentChecks(of: {
  answers: AgentAnswers;
  hosts: ReportedHosts;
  presence: Pick<Presence, 'checkMs'>;
}): ReadCheck {
  const { answers, hosts, presence } = of;
  const same = unchangedBytes(presence);

  class AgentCheck implements Check {
    readonly known: string;
    readonly waitMs: number;
    readonly #ask: Ask;

    constructor(ask: Ask, { knownFingerprint, wait }: DeviceAgentConfigRequest) {
      this.#ask = ask;
      this.known = knownFingerprint;
      this.waitMs = wait ? Math.min(durationMs(wait), longestHoldMs) : 0;
    }
    get partId(): string {
      return this.#ask.partId;
    }
    now(): Found | undefined {
      const answer = answers.known(this.#ask);
      return answer && present(answer);
    }
    async look(): Promise<Found> {
      return present(await answers.answer(this.#ask));
    }
    same(found: Present): Uint8Array {
      return same(found);
    }
    whole({ answer }: Found): Uint8Array {
      if (this.#ask.product !== 'platform') hosts.sent(this.#ask.partId, answer.revision);
      return wholeBytes(answer, presence.checkMs());
    }
    watch(wake: () => void): () => void {
      return answers.watch(this.#ask.partId, wake);
    }
  }

  return (body, baseUrl) => {
    const asked = fromBinary(DeviceAgentConfigRequestSchema, body);
    if (asked.id === '' || asked.report || asked.uninstalled) return undefined;
    return {
      check: new AgentCheck(askOf(asked, asked.id, baseUrl), asked),
      isKnown: hosts.isKnown(asked.id, asked),
      save: () => hosts.save(asked.id, asked),
    };
  };
}
