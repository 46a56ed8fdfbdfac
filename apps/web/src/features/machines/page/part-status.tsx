import { sliceStates } from '@platform/contract/machine/program-states';
import { Popover } from 'radix-ui';
import { staysBehindDialog } from '../../../ui/dialogs.tsx';
import { useKnownState, useLostSince } from '../../../ui/contact.tsx';
import { Note } from '../../../ui/messages.tsx';
import { Ago } from '../../../ui/time.tsx';
import { Badge } from '../../../ui/badges.tsx';
import type { ConditionView, MachineView } from '../../../entities/machine/machine-status.ts';
import type { SliceView } from '../../../entities/machine/slices.ts';
import { formatCount } from '../../../ui/quantities.ts';
import { StatusWords } from './machine-buttons.tsx';
import { ConditionSource } from './machine-notices.tsx';
import { PartOrders } from './orders-card.tsx';
import { ProgramSection } from './program-section.tsx';
import { Command } from '../../../ui/copying.tsx';

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

/** Status of the programs on a machine, behind one button that shows the most severe state; it begins open. */
export function PartStatus({ machine }: { machine: MachineView }) {
  const state = useKnownState(machine.online);
  const isLost = useLostSince() !== undefined;
  const pastAt = machine.pastAt ?? (isLost ? machine.lastSeen : undefined);
  return (
    <Popover.Root defaultOpen>
      <Popover.Trigger className="button">
        <StatusWords machine={machine} />
      </Popover.Trigger>
      <Popover.Portal>
        <Popover.Content
          className="popover"
          align="end"
          sideOffset={6}
          collisionPadding={8}
          aria-label="Part status"
          onFocusOutside={staysBehindDialog}
          // Keys scroll it also while every order in it is disabled.
          tabIndex={0}
        >
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
          <PartOrders machine={machine} />
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
            <LastEnd machine={machine} />
          </ProgramSection>
          {machine.conditions.length > 0 && <ConditionList conditions={machine.conditions} />}
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  );
}

const LastEnd = ({ machine: { lastExit, restarts } }: { machine: MachineView }) =>
  lastExit !== '' && (
    <p className="small soft">
      Last end: {lastExit}
      {restarts > 0 && `, started again ${formatCount(restarts, 'time')}`}
    </p>
  );

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

const ConditionList = ({ conditions }: { conditions: readonly ConditionView[] }) => (
  <section className="popover-part" aria-label="Conditions">
    <h2>Conditions</h2>
    {conditions.map((condition) => (
      <Note key={`${condition.code} ${condition.message}`} tone={condition.tone}>
        <p className="small">{condition.message}</p>
        {condition.remedy && <p className="small soft">{condition.remedy}</p>}
        <ConditionSource condition={condition} />
      </Note>
    ))}
  </section>
);

/** The migration of a machine from another product's agent to ours. */
const OtherAgent = ({ machine }: { machine: MachineView }) =>
  machine.migrationRequested === undefined ? (
    <>
      <p className="small soft">Another product&apos;s agent. To move this machine to platform-agent, run:</p>
      <Command text={`npm run -s platform -- machine migrate ${machine.id}`} />
      <p className="small soft">The other agent fetches it as its update, and is put back if the move fails.</p>
    </>
  ) : (
    <p className="small soft">
      Another product&apos;s agent. A move to platform-agent was requested <Ago at={machine.migrationRequested} />.
    </p>
  );
