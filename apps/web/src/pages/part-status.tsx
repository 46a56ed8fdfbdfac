import { sliceStates } from '@platform/contract/program-states';
import { createConnectQueryKey, useMutation } from '@connectrpc/connect-query';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { useQueryClient } from '@tanstack/react-query';
import { Popover } from 'radix-ui';
import { useState } from 'react';
import { ConfirmDialog } from '../parts/dialogs.tsx';
import { ChevronIcon, RestartIcon } from '../parts/icons.tsx';
import { useKnownState, useLostSince } from '../parts/contact.tsx';
import { FailureNote, Note } from '../parts/messages.tsx';
import { Ago } from '../parts/time.tsx';
import { Badge, Dot } from '../parts/badges.tsx';
import { hasRestarted, machineBadge } from '../view/machine-status.ts';
import type { ConditionView, MachineView } from '../view/machine-status.ts';
import type { SliceView } from '../view/slices.ts';
import { formatCount } from '../view/quantities.ts';
import { OtherAgent } from './other-agent.tsx';
import { ProgramSection } from './program-section.tsx';
import { isolateText } from '../view/user-text.ts';

/** Says of when the report is, if the machine does not report now. */
function Past({ machine, pastAt }: { machine: MachineView; pastAt: number | undefined }) {
  if (machine.uninstalled !== undefined)
    return (
      <p className="small">
        Its agent was uninstalled <Ago at={machine.uninstalled} />. What follows is its last report; install it again,
        or delete the machine.
      </p>
    );
  if (pastAt === undefined) return null;
  return (
    <p className="small">
      What follows is its last report, as of <Ago at={pastAt} />.
    </p>
  );
}

/** Status of the programs on a machine, behind one button that shows the most severe state. */
export function PartStatus({ machine }: { machine: MachineView }) {
  const badge = machineBadge(machine);
  const state = useKnownState(machine.online);
  const isLost = useLostSince() !== undefined;
  const pastAt = machine.pastAt ?? (isLost ? machine.lastSeen : undefined);
  return (
    <Popover.Root>
      <Popover.Trigger className="button">
        <span className="hidden-text">Part status: </span>
        <Dot tone={state.tone} />
        {state.text}
        {badge && <span className={`badge is-${badge.tone}`}>{badge.text}</span>}
        <ChevronIcon />
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content className="popover" align="end" sideOffset={6} collisionPadding={8} aria-label="Part status">
          <div className="popover-part">
            <div className="row">
              <Badge state={state} />
              <span className="soft small push">
                seen <Ago at={machine.lastSeen} />
              </span>
            </div>
            <Past machine={machine} pastAt={pastAt} />
            <ConfigLine machine={machine} />
            <Slices slices={machine.slices} isCurrent={machine.config.isCurrent} />
          </div>
          <ProgramSection title="Agent" program={machine.agent} pastAt={pastAt}>
            {machine.hasOtherAgent && <OtherAgent machine={machine} />}
            {machine.hasReport && !machine.isSupervised && (
              <p className="small soft">Not supervised by systemd on this machine.</p>
            )}
          </ProgramSection>
          <ProgramSection
            title="Machine server"
            program={machine.server}
            pastAt={pastAt}
            state={machine.hasReport && !machine.hasOtherAgent ? machine.serverState : undefined}
          >
            {machine.lastExit && (
              <p className="small soft">
                Last end: {machine.lastExit}
                {machine.restarts > 0 && `, started again ${formatCount(machine.restarts, 'time')}`}
              </p>
            )}
            <Restart machine={machine} />
          </ProgramSection>
          {machine.conditions.length > 0 && <ConditionList conditions={machine.conditions} />}
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}

/** The slices that lag, since when and why; fields without effect. */
const Slices = ({ slices, isCurrent }: { slices: readonly SliceView[]; isCurrent: boolean }) =>
  slices.length > 0 && (
    <ul className="slices small" aria-label={`Configuration by part${isCurrent ? '' : ' at the last report'}`}>
      {slices.map(({ name, state, since, reason, code, paths }) => (
        <li key={`${name} ${state}`}>
          <strong>{name}</strong>{' '}
          <span className={`badge is-${state === 'lagging' ? 'bad' : 'warn'}`}>{sliceStates[state].text}</span>{' '}
          {since !== undefined && (
            <>
              since <Ago at={since} otherwise="" />
            </>
          )}
          {paths.length > 0 && (
            <span className="slice-paths mono break">
              {paths.map((path) => (
                <span key={path}>{path}</span>
              ))}
            </span>
          )}
          {reason !== '' && (
            <span className="slice-why soft break">
              {reason}
              {code !== '' && <span className="mono"> {code}</span>}
            </span>
          )}
        </li>
      ))}
    </ul>
  );

function ConfigLine({ machine: { config } }: { machine: MachineView }) {
  return (
    <p className="small break">
      Configuration: {config.text}
      {config.measured !== undefined && (
        <span className="soft">
          {' '}
          · {config.isCurrent ? 'reported' : 'last report'} <Ago at={config.measured} />
        </span>
      )}
    </p>
  );
}

function Restart({ machine }: { machine: MachineView }) {
  const queries = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  const [startedBefore, setStartedBefore] = useState<number>();
  const restart = useMutation(FleetService.method.restartPart, {
    // The next report describes the machine after the restart.
    onSuccess: () =>
      queries.invalidateQueries({
        queryKey: createConnectQueryKey({ schema: FleetService.method.getMachine, cardinality: 'finite' }),
      }),
  });
  const isWaiting = machine.restartRequested !== undefined;
  const confirm = (): void => {
    setStartedBefore(machine.server.startedAt);
    restart.mutate({ partId: machine.partId });
  };
  return (
    <div className="stack-tight">
      <div>
        <button
          type="button"
          className="button button-small"
          disabled={isWaiting || restart.isPending}
          onClick={() => setAsking(true)}
        >
          <RestartIcon />
          Restart
        </button>
      </div>
      {isWaiting ? (
        <p className="small" role="status">
          Restart requested <Ago at={machine.restartRequested} />
          {machine.isOnline
            ? '; the agent does it next.'
            : '; it happens if the machine is online within an hour and its server was not started since.'}
        </p>
      ) : (
        restart.isSuccess && (
          <p className="small" role="status">
            {hasRestarted(startedBefore, machine.server.startedAt)
              ? 'The server was restarted and runs again.'
              : 'The agent has taken the order and restarts the server.'}
          </p>
        )
      )}
      {restart.error && <FailureNote error={restart.error} />}
      <ConfirmDialog
        title="Restart the machine server?"
        text={`${isolateText(machine.name)} stops what it is doing: cameras, predictions and uploads pause until the server is ready again.${machine.isRestartAllowed || !machine.hasReport ? '' : ' The server says that it is busy now.'}`}
        verb="Restart"
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        onConfirm={confirm}
      />
    </div>
  );
}

const ConditionList = ({ conditions }: { conditions: readonly ConditionView[] }) => (
  <section className="popover-part" aria-label="Conditions">
    <h2>Conditions</h2>
    {conditions.map((condition) => (
      <Note key={`${condition.code} ${condition.message}`} tone={condition.tone}>
        <p className="small">{condition.message}</p>
        {condition.remedy && <p className="small soft">{condition.remedy}</p>}
        <p className="small soft">
          <span className="mono break">
            {condition.code}
            {condition.path !== '' && ` · ${condition.path}`}
          </span>
          {condition.since !== undefined && ' · '}
          <Ago at={condition.since} otherwise="" />
        </p>
      </Note>
    ))}
  </section>
);
