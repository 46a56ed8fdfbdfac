import type { ReactNode } from 'react';
import { Pair } from '../../../ui/layout.tsx';
import { Ago, useNow } from '../../../ui/time.tsx';
import { Badge, ProgressBar } from '../../../ui/badges.tsx';
import { ExitNotice } from './exit-notice.tsx';
import { knownState } from '../../../ui/server-contact.ts';
import type { StatusLabel } from '../../../ui/status-label.ts';
import { trialLabel, trialText } from '../../../entities/machine/program-status.ts';
import type { ProgramView, QuarantinedView, TrialView, UpdateView } from '../../../entities/machine/program-status.ts';
import { withTimeLeft } from '@platform/contract/machine/restart-wait';
import { span } from '../../../ui/times.ts';

interface ProgramSectionProps {
  title: string;
  program: ProgramView;
  state?: StatusLabel | undefined;
  /** When the machine was last seen, in ms since 1970, if it is offline; undefined: the report is current. */
  pastAt: number | undefined;
  children?: ReactNode;
}

const uptimeUnknown = ({ isRunning }: ProgramView): string => (isRunning ? 'not reported' : 'not running');

/** One program of a machine: the running and the desired version, and why they differ. */
export function ProgramSection({ title, program, state, pastAt, children }: ProgramSectionProps) {
  const now = useNow();
  const until = pastAt ?? now;
  const trial = trialLabel(program, pastAt);
  return (
    <section className="popover-part" aria-label={title}>
      <div className="row">
        <h2>{title}</h2>
        {state && <Badge state={knownState(state, pastAt !== undefined)} />}
        {trial && <Badge state={trial} />}
        {program.isUnsigned && <Badge state={{ tone: 'warn', text: 'Unsigned' }} />}
        {program.isNextUnsigned && <Badge state={{ tone: 'warn', text: 'Next one unsigned' }} />}
      </div>
      <dl className="pair-list pair-list-tight">
        <Pair name={pastAt === undefined ? 'Running' : 'Ran'} className="mono break">
          {program.running}
        </Pair>
        <Pair name="Installed" className="mono break">
          {program.installed}
        </Pair>
        <Pair name="Wanted" className="mono break">
          {program.desired}
        </Pair>
        <Pair name="Uptime">
          {program.startedAt === undefined ? uptimeUnknown(program) : span(until - program.startedAt)}
        </Pair>
        {program.previous !== '' && (
          <Pair name="Before it" className="mono break">
            {program.previous}
          </Pair>
        )}
      </dl>
      {program.why !== '' && <p className="small break">{withTimeLeft(program.why, program.wait, now, span)}</p>}
      <StartWait wait={program.startWait} />
      {program.trial && <Trial trial={program.trial} pastAt={pastAt} />}
      {program.update && (
        <LastUpdate
          update={program.update}
          isReasonKnown={program.quarantined.some(({ reason }) => reason === program.update?.reason)}
        />
      )}
      {program.isRestartNeeded && (
        <p className="small">Another file is installed than the one that runs: it is used after a restart.</p>
      )}
      {program.isUpdateWaiting && !program.isRestartNeeded && !program.update && (
        <p className="small">Version {program.desired} is wanted, and not installed yet.</p>
      )}
      {program.quarantined.map((one) => (
        <Quarantined key={`${one.version} ${one.hash}`} title={title} version={one} />
      ))}
      {program.lastExit && <ExitNotice of={title} exit={program.lastExit} />}
      {children}
    </section>
  );
}

function StartWait({ wait }: { wait: ProgramView['startWait'] }) {
  const now = useNow();
  return wait && <p className="small">{withTimeLeft(`It has not started: ${wait.reason}.`, wait, now, span)}</p>;
}

function Trial({ trial, pastAt }: { trial: TrialView; pastAt: number | undefined }) {
  const now = useNow();
  if (trial.starts === 0)
    return (
      <p className="small">
        <span className="mono">{trial.version}</span> has not started yet. From its first start on, it is on trial: if
        it fails, <span className="mono">{trial.previous}</span> is back by itself.
      </p>
    );
  return (
    <p className="small">
      <span className="mono">{trial.version}</span> {trialText(trial, now, pastAt)}. If it fails,{' '}
      <span className="mono">{trial.previous}</span> is back by itself.
    </p>
  );
}

/** `isReasonKnown`: the page shows the reason elsewhere. */
const LastUpdate = ({ update, isReasonKnown }: { update: UpdateView; isReasonKnown: boolean }) => (
  <div className="stack-tight">
    <p className="small">
      Update to <span className="mono">{update.version}</span>: {update.label.text.toLowerCase()}
      {update.loaded && `, ${update.loaded}`} <Ago at={update.since} otherwise="" />
    </p>
    {update.share !== undefined && <ProgressBar share={update.share} label={`Download of ${update.version}`} isThin />}
    {update.reason && !isReasonKnown && (
      <p className="small soft">
        {update.reason} {update.code && <span className="mono">{update.code}</span>}
      </p>
    )}
  </div>
);

const Quarantined = ({ title, version }: { title: string; version: QuarantinedView }) => (
  <>
    <p className="small">
      <span className="mono">{version.version}</span>
      {version.hash && <span className="mono soft"> {version.hash}</span>} is not tried again: {version.reason}{' '}
      <span className="soft">
        <Ago at={version.since} otherwise="" />
      </span>
    </p>
    {version.exit && <ExitNotice of={title} exit={version.exit} />}
  </>
);
