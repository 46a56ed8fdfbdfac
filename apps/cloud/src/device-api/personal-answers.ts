import { create, toBinary } from '@bufbuild/protobuf';
import { LRUCache } from 'lru-cache';
import { DeviceAgentConfigResponseSchema } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import type { Clock } from '@platform/kit';
import type { Secrets } from '../access/secrets.ts';
import type { Database } from '../database/database.ts';
import type { PartRuns } from '../machines/part-runs.ts';
import { splitCode } from '../machines/store/machine-splits.ts';
import type { Answer } from './agent-answers.ts';

/** What only one run of the agent of a part is sent, because several computers share the credentials of the part. */
export type PersonalAnswers = {
  /** Whether a set-up code waits for this run: its check is answered at once. */
  isUrgent(answer: Pick<Answer, 'split'>, runId: string | undefined): boolean;
  /** The encoded fields, which merge with an answer; empty: none. A set-up code is valid from now on. */
  bytes(of: { partId: string; runId: string | undefined }, answer: Pick<Answer, 'split'>): Promise<Uint8Array>;
};

/** The code waits for a computer that is offline, and is valid for a day after it was sent. */
const codeLifeMs = 24 * 3_600_000;
const renewMs = 60_000;
const none = new Uint8Array();

export function personalAnswers(of: {
  db: Database;
  secrets: Pick<Secrets, 'sealingKey'>;
  runs: Pick<PartRuns, 'wantsReport'>;
  clock: Clock;
}): PersonalAnswers {
  const { db, secrets, runs, clock } = of;
  /** The agent checks in again before it has redeemed the code. */
  const sent = new LRUCache<string, { code: string; at: number }>({ max: 1_000 });
  const codeFor = async (split: NonNullable<Answer['split']>): Promise<string> => {
    const before = sent.get(split.seed);
    if (before && clock.now() - before.at < renewMs) return before.code;
    const now = clock.wall();
    const code = await splitCode(db, split, { key: secrets.sealingKey, now, expiresOn: now + codeLifeMs });
    sent.set(split.seed, { code, at: clock.now() });
    return code;
  };
  const isUrgent: PersonalAnswers['isUrgent'] = ({ split }, runId) => split !== undefined && split.runId === runId;
  return {
    isUrgent,
    async bytes({ partId, runId }, answer) {
      const { split } = answer;
      const setUpCode = split && isUrgent(answer, runId) ? await codeFor(split) : '';
      const sendReport = runs.wantsReport(partId, runId);
      if (setUpCode === '' && !sendReport) return none;
      return toBinary(
        DeviceAgentConfigResponseSchema,
        create(DeviceAgentConfigResponseSchema, { setUpCode, sendReport }),
      );
    },
  };
}
