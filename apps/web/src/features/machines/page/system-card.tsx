import { useMutation } from '@connectrpc/connect-query';
import { FleetService, type Machine } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { useState } from 'react';
import { ConfirmDialog } from '../../../ui/dialogs.tsx';
import { Card, Pair } from '../../../ui/layout.tsx';
import { FailureNote } from '../../../ui/messages.tsx';
import { Ago } from '../../../ui/time.tsx';
import { UserText } from '../../../ui/isolated-text.tsx';
import { useRefreshMachine } from './refresh-machine.ts';
import { pastTime } from '../../../entities/machine/machine-status.ts';
import { systemView, type SystemView, type UpgradeView } from './system.ts';
import { isolateText } from '../../../ui/user-text.ts';

/** Upgrades of the operating system of a machine: what waits, what was upgraded, whether it needs a reboot. */
export function SystemCard({ machine }: { machine: Machine }) {
  const system = systemView(machine);
  if (!system) return null;
  const past = pastTime(machine);
  return (
    <Card
      title="Operating system"
      hint={
        <>
          {machine.report?.os}
          {past !== undefined && (
            <>
              {' '}
              · as of <Ago at={past} />
            </>
          )}
        </>
      }
      head={system.hasApt && <UpgradeButton machine={machine} system={system} />}
    >
      <div className="card-body">
        <dl className="pair-list">
          {system.why !== '' && (
            <Pair name="Configuration" className="break">
              Not managed by the agent: {system.why}.
            </Pair>
          )}
          {system.hasApt && <Upgrades system={system} />}
        </dl>
      </div>
    </Card>
  );
}

function Upgrades({ system }: { system: SystemView }) {
  return (
    <>
      <Pair name="Upgrades">
        {system.summary}
        {system.task !== '' && <span role="status">; now: {system.task}</span>}
        {system.requested !== undefined && (
          <span role="status">
            ; requested <Ago at={system.requested} />
          </span>
        )}
        <Packages packages={system.waiting} more={system.more} />
      </Pair>
      <Pair name="Last upgraded">
        <LastRun run={system.lastRun} />
      </Pair>
      {system.reboot && (
        <Pair name="Reboot">
          Needed since <Ago at={system.reboot.since} otherwise="an unknown time" />, because of{' '}
          <UserText text={system.reboot.causes} />: {system.reboot.wait}.
        </Pair>
      )}
    </>
  );
}

function LastRun({ run }: { run: SystemView['lastRun'] }) {
  if (!run) return 'No run is recorded.';
  return (
    <>
      <Ago at={run.started} otherwise="at an unknown time" />
      {run.problem !== '' && <div className="break">{run.problem}</div>}
      <Packages packages={run.packages} more={Math.max(0, run.count - run.packages.length)} />
    </>
  );
}

function Packages({ packages, more }: { packages: readonly UpgradeView[]; more: number }) {
  if (packages.length === 0) return null;
  return (
    <details>
      <summary className="small">Packages</summary>
      <ul className="small">
        {packages.map(({ name, versions, isSecurity }) => (
          <li key={name} className="break">
            <span className="mono">{name}</span> {versions}{' '}
            {isSecurity && <span className="badge is-warn">security</span>}
          </li>
        ))}
        {more > 0 && <li className="soft">and {more} more</li>}
      </ul>
    </details>
  );
}

function UpgradeButton({ machine, system }: { machine: Machine; system: SystemView }) {
  const refresh = useRefreshMachine();
  const [isAsking, setAsking] = useState(false);
  const upgrade = useMutation(FleetService.method.upgradeSystem, { onSuccess: refresh });
  const isBusy = upgrade.isPending || system.task !== '' || system.requested !== undefined;
  return (
    <div className="push">
      <button type="button" className="button button-small" disabled={isBusy} onClick={() => setAsking(true)}>
        Upgrade now
      </button>
      {upgrade.error && <FailureNote error={upgrade.error} />}
      <ConfirmDialog
        title="Upgrade the operating system?"
        text={`${isolateText(machine.name)} installs its waiting upgrades, as os_auto_upgrade_type selects them. Services of upgraded packages may restart. The machine reboots only in a maintenance window.`}
        verb="Upgrade"
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        onConfirm={() => upgrade.mutate({ partId: machine.partId })}
      />
    </div>
  );
}
