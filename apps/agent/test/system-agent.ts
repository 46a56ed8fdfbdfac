import assert from 'node:assert/strict';
import { resolveAgentConfig } from '@platform/contract/config/agent-config';
import { Cell } from '@platform/kit';
import { systemClock } from '@platform/kit/node';
import { keepSystem } from '../src/composition/system-configuration.ts';
import { wantedBefore } from '../src/config/config-receiver.ts';
import { settingsOf } from '../src/state/settings.ts';
import type { Wanted } from '../src/state/state.ts';
import type { SystemApplied } from '../src/system/keep.ts';
import type { SystemStatus } from '../src/system/system-status.ts';
import type { aptMachine } from './apt-machine.ts';

/** In real time: the files are real. */
const longestMs = 20_000;

/** An agent that keeps the system of a machine, until it stops. */
export function agentOn(at: Awaited<ReturnType<typeof aptMachine>>) {
  const wantedWith = (revision: number, agent: object): Wanted => {
    const { config, hasSystem } = resolveAgentConfig({ cloud: agent });
    const before = wantedBefore({ commandLine: undefined, manufacturer: undefined, isFastStart: true });
    return {
      ...before,
      revision,
      isFresh: revision > 0,
      settings: settingsOf(config, { isFastStart: true, hasSystem }),
    };
  };
  const wanted = new Cell(wantedWith(0, {}));
  const system = new Cell<SystemApplied>({ revision: 0, configSha256: '', failure: undefined });
  const systemStatus = new Cell<SystemStatus | undefined>(undefined);
  const end = new AbortController();
  const kept = keepSystem({ wanted, system, systemStatus }, at.parts(), end.signal);
  return {
    status: systemStatus,
    async configure(revision: number, agent: object): Promise<void> {
      wanted.set(wantedWith(revision, agent));
      while (system.get().revision !== revision) await at.clock.advance(1_000);
    },
    /** Does not wait until it is applied. */
    receive: (revision: number, agent: object): void => wanted.set(wantedWith(revision, agent)),
    /** Passes time until this holds. The files are real, so their calls need real time. */
    async until(what: string, is: () => boolean, stepMs = 1_000): Promise<void> {
      const deadline = systemClock.now() + longestMs;
      while (!is()) {
        assert.ok(systemClock.now() < deadline, what);
        await at.clock.advance(stepMs);
        await systemClock.sleep(1);
      }
    },
    revision: (): number => system.get().revision,
    /** Waits for this text: the report follows the change. */
    async reports(why: string | undefined): Promise<void> {
      const deadline = systemClock.now() + longestMs;
      while (systemStatus.get()?.why !== why && systemClock.now() < deadline) {
        await at.clock.advance(10);
        await systemClock.sleep(1);
      }
      assert.equal(systemStatus.get()?.why, why);
    },
    async stop(): Promise<void> {
      end.abort();
      await at.clock.advance(60_000);
      await kept;
    },
  };
}
