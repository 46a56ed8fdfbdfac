// A version that crashes, hangs, or cannot connect: the machine rolls back to 0.1.0 and reports it in the app.
import assert from 'node:assert/strict';
import { type Machine, UpdateState } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { Fault, ProgramName } from './builds.ts';
import type { Installation } from './install-story.ts';
import { isOnline, mainPid, runningVersion } from './installed.ts';
import { keep, timed } from './results.ts';

export type BadVersion = readonly [program: ProgramName, fault: Fault, version: string];

/** How its last start ended, and a line that it wrote; undefined: no exit is reported, only the quarantine reason. */
const exits: Readonly<Record<string, [reason: RegExp, line: RegExp] | undefined>> = {
  'platform-agent crash': [/^(?:it ended before it was ready \()?exit [1-9]/, /this program was made to crash/],
  'platform-agent hang': [/^not ready in time; systemd ended it \(signal SIG/, /^/],
  'platform-agent mute': undefined,
  'platform-server crash': [/^exit [1-9]/, /this program was made to crash/],
  'platform-server background': [
    /^it went into the background: .* \(\/bin\/sleep 1000000\) went on and was ended$/,
    /^/,
  ],
  'platform-server hang': [/^it never got ready; the agent ended it/, /^/],
};

/** Both programs of the machine are on 0.1.0, their stable version. */
export async function reverts(
  { site, machine, partId, where }: Installation,
  [name, fault, version]: BadVersion,
): Promise<void> {
  const of = ({ report }: Machine) => (name === 'platform-agent' ? report?.agent : report?.server);
  const want = (desired: string) =>
    site.configure(partId, {
      version_control: { [name === 'platform-agent' ? 'agent' : name]: desired },
      advanced_settings: { agent_auto_restart: true, platform_server_start_timeout_minutes: 1 },
    });
  const server = await mainPid(machine, 'platform-server');
  await want(version);
  if (name === 'platform-server') {
    await site.until(
      partId,
      'staged',
      600,
      (found) => of(found)?.lastUpdate?.version === version && of(found)?.lastUpdate?.state === UpdateState.STAGED,
    );
    await site.fleet.restartPart({ partId });
  }
  const { seconds, value: found } = await timed(() =>
    site.until(
      partId,
      'reverted, reported and online',
      1_200,
      (one) => isOnline(one) && of(one)?.lastUpdate?.state === UpdateState.REVERTED,
    ),
  );
  assert.equal(await runningVersion(machine, name), '0.1.0');
  assert.equal(of(found)?.runningVersion, '0.1.0');
  const [quarantined] = of(found)?.quarantined ?? [];
  assert.equal(quarantined?.version, version);
  assert.notEqual(quarantined?.reason, '');
  if (name === 'platform-agent')
    assert.equal(await mainPid(machine, 'platform-server'), server, 'the server was touched');
  // The rollback persists: the next start does not retry the version.
  await machine.must('systemctl restart platform-agent', 300);
  const after = await site.until(partId, 'online after a restart', 600, isOnline);
  assert.equal(of(after)?.runningVersion, '0.1.0');
  const { exit } = of(after)?.quarantined[0] ?? {};
  const [how, line] = exits[`${name} ${fault}`] ?? [/^$/, /^/];
  assert.match(exit?.reason ?? '', how);
  assert.match(exit?.lines.join('\n') ?? '', line);
  const ended = exit ? `, “${exit.reason}” with ${exit.lines.length} lines` : '';
  const note = `reason “${quarantined?.reason}”${ended}${name === 'platform-agent' ? '; the machine server kept its pid' : ''}`;
  await keep(`${name} that would ${fault}: back on the version before`, where, seconds, note);
  // A fixed build under the same desired version is installed.
  await want('0.1.0');
  await site.until(partId, 'content', 300, isOnline);
}
