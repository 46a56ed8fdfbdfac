// A switch to another version: one link changes. Each stage is on the disk before its work begins, so the switch goes
// on after a kill or a power cut, and a version that is not ready in time is reverted. Decision 0079.
import { rmSync } from 'node:fs';
import path from 'node:path';
import { units } from './places.ts';
import { keepSnapshots, restoreSnapshot, takeSnapshot } from './data-snapshot.ts';
import { writeKeysOfFirstStart } from './first-start.ts';
import { untilReady } from './readiness.ts';
import { readServerOptions } from './server-options.ts';
import {
  currentLink,
  endSwitch,
  installedVersions,
  provenLink,
  readPrevious,
  readSwitch,
  type Switch,
  versionFolder,
  writePrevious,
  writeSwitch,
} from './state.ts';
import { attempt, switchLink, systemctl } from './system.ts';

/** Continues the switch in progress to its end. Does nothing if there is none. */
export async function resumeSwitch(say: (text: string) => void): Promise<void> {
  for (let now = await readSwitch(); now; now = await readSwitch()) {
    say(`Switch from ${now.from ?? 'nothing'} to ${now.to}: ${now.stage}.`);
    await stages[now.stage](now, say);
  }
}

const stages: Readonly<Record<Switch['stage'], (of: Switch, say: (text: string) => void) => Promise<void>>> = {
  async prepare(of) {
    systemctl('stop', units.runner, units.server);
    const { database_url } = await readServerOptions();
    const snapshot = of.from === null || database_url !== undefined ? null : takeSnapshot(`before-${of.to}`);
    await writeSwitch({ ...of, snapshot, stage: of.restore === null ? 'trial' : 'restore' });
  },

  async restore(of) {
    systemctl('stop', units.runner, units.server);
    if (of.restore !== null) restoreSnapshot(of.restore);
    await writeSwitch({ ...of, stage: 'trial' });
  },

  async trial(of, say) {
    start(of.to);
    const problem = await untilReady(of.to, of.readyWithinS);
    if (problem !== undefined) {
      say(`Version ${of.to} is not ready: ${problem}`);
      if (of.from !== null) return writeSwitch({ ...of, stage: 'revert', problem });
      systemctl('stop', units.server);
      return endSwitch({ to: of.to, startedAt: of.startedAt, outcome: 'failed', reason: problem });
    }
    await writeKeysOfFirstStart();
    attempt('systemctl', 'start', '--no-block', units.runner);
    switchLink(provenLink, of.to);
    if (of.from !== null) await writePrevious({ version: of.from, snapshot: of.snapshot, switchedAt: of.startedAt });
    await endSwitch({ to: of.to, startedAt: of.startedAt, outcome: 'done', reason: '' });
    const previous = await readPrevious();
    keepSnapshots([previous?.snapshot ?? null]);
    for (const version of installedVersions())
      if (version !== of.to && version !== previous?.version) rmSync(versionFolder(version), { recursive: true });
  },

  async revert(of) {
    const from = of.from ?? of.to;
    systemctl('stop', units.runner, units.server);
    if ((of.hasNewSchema || of.restore !== null) && of.snapshot !== null) restoreSnapshot(of.snapshot);
    start(from);
    attempt('systemctl', 'start', '--no-block', units.runner);
    const problem = await untilReady(from, of.readyWithinS);
    const reasons = [
      of.problem ?? '',
      ...(problem === undefined ? [] : [`Version ${from} is not ready either: ${problem}`]),
    ];
    await endSwitch({ to: of.to, startedAt: of.startedAt, outcome: 'reverted', reason: reasons.join('\n') });
  },
};

function start(version: string): void {
  switchLink(currentLink, path.basename(versionFolder(version)));
  systemctl('daemon-reload');
  attempt('systemctl', 'reset-failed', units.server);
  systemctl('restart', '--no-block', units.server);
}
