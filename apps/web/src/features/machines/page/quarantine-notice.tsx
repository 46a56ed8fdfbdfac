import { useMutation } from '@connectrpc/connect-query';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { FailureNote, Note } from '../../../ui/messages.tsx';
import { Ago } from '../../../ui/time.tsx';
import { ExitNotice } from './exit-notice.tsx';
import { useRefreshMachine } from './refresh-machine.ts';
import type { MachineView } from '../../../entities/machine/machine-status.ts';

/** Quarantined versions of a machine: which, why, since when, and a button to retry them. */
export function QuarantineNotice({ machine }: { machine: MachineView }) {
  const refresh = useRefreshMachine();
  const clear = useMutation(FleetService.method.clearQuarantine, { onSuccess: refresh });
  const given = quarantinedOf(machine);
  if (given.length === 0) return null;
  if (machine.quarantineCleared !== undefined) {
    return (
      <Note tone="busy" isLive>
        <p>
          Cleared <Ago at={machine.quarantineCleared} otherwise="now" />.{' '}
          {machine.isOnline
            ? 'The machine retries the desired version.'
            : 'The machine retries the desired version when it is online.'}
        </p>
      </Note>
    );
  }
  return (
    <>
      <Note tone="bad">
        {given.map(({ title, version, hash, reason, since, running, exit }) => (
          <div key={`${title} ${version} ${hash}`}>
            <p>
              {title} rolled back <span className="mono">{version}</span>: {reason || 'it did not become healthy'}. It{' '}
              {machine.pastAt === undefined ? 'runs' : 'ran'} <span className="mono">{running}</span>.{' '}
              <span className="soft">
                <Ago at={since} otherwise="" />
              </span>
            </p>
            {exit && <ExitNotice of={title} exit={exit} />}
          </div>
        ))}
        <p className="soft">
          {given.length === 1 ? 'It is' : 'They are'} not tried again until another version is desired. Choose one under
          CONFIGURE, or mend the cause and try again.
        </p>
        <div>
          <button
            type="button"
            className="button button-small"
            disabled={clear.isPending}
            onClick={() => clear.mutate({ partId: machine.partId })}
          >
            Try again
          </button>
        </div>
      </Note>
      {clear.error && <FailureNote error={clear.error} />}
    </>
  );
}

const quarantinedOf = (machine: MachineView) =>
  [
    { title: 'The agent', program: machine.agent },
    { title: 'The machine server', program: machine.server },
  ].flatMap(({ title, program }) =>
    program.quarantined.map((version) => ({ ...version, title, running: program.running })),
  );
