import { useQuery } from '@connectrpc/connect-query';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { Machine } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { Link } from '@tanstack/react-router';
import { useLostSince } from '../../../ui/contact.tsx';
import { CheckIcon, CrossIcon } from '../../../ui/icons.tsx';
import { FailureNote, Note } from '../../../ui/messages.tsx';
import { Ago, useNow } from '../../../ui/time.tsx';
import { bothMoments, msOf, span } from '../../../ui/times.ts';
import { type InstallationView, installationView, type StepView } from './installation.ts';
import { isolateText } from '../../../ui/user-text.ts';
import '../../../ui/style/adding.css';

const refreshMs = 1_000;

/** Each step of the machine, as installer, server and agent measured it. */
export function InstallProgress({ machine }: { machine: Machine }) {
  const query = useQuery(
    FleetService.method.getInstallation,
    { partId: machine.partId },
    { refetchInterval: refreshMs, retry: false },
  );
  const view = installationView(query.data, machine, useNow());
  const lostSince = useLostSince();
  return (
    <section
      className={`card install-progress${view.hasBegun ? ' has-begun' : ''}`}
      aria-label="Steps of the installation"
    >
      <div className="card-head">
        <h2>{isolateText(machine.name)}</h2>
        <span className="soft small push">{headline(view)}</span>
      </div>
      <div className="card-body">
        {query.error && !lostSince && <FailureNote error={query.error} />}
        {view.isOlder && (
          <Note tone="good">
            <p>
              This machine was installed before, and is online. Reported <Ago at={msOf(machine.reportedOn)} />. A line
              installs it again, and keeps what runs on it.
            </p>
          </Note>
        )}
        <ol className="install-steps" aria-live="polite">
          {view.steps.map((step) => (
            <Step key={step.name} step={step} startedAt={view.startedAt} />
          ))}
        </ol>
        <After view={view} machine={machine} />
      </div>
    </section>
  );
}

function headline(view: InstallationView): string {
  if (view.isOnline) return 'online';
  const at = view.steps.findIndex(({ state }) => state === 'running' || state === 'failed');
  const step = view.steps[at];
  if (!step) return 'waiting for the machine';
  return `${step.state === 'failed' ? 'stopped at step' : 'step'} ${at + 1} of ${view.steps.length}`;
}

const spoken: Readonly<Record<StepView['state'], string>> = {
  done: 'done',
  running: 'in progress',
  failed: 'failed',
  waiting: 'not yet',
  unreported: 'done, not reported',
};

function Step({ step, startedAt }: { step: StepView; startedAt: number | undefined }) {
  const { name, state, time, detail } = step;
  return (
    <li className={`install-step is-${state}`}>
      <span className="install-mark" aria-hidden="true">
        {(state === 'done' || state === 'unreported') && <CheckIcon />}
        {state === 'failed' && <CrossIcon />}
      </span>
      <div className="row">
        <strong>{name}</strong>
        <span className="hidden-text">{spoken[state]}</span>
        <StepTime time={time} startedAt={startedAt} />
      </div>
      {state === 'failed' ? (
        <Note tone="bad" isLive>
          <p>{detail === '' ? 'The installer ended without a reason. Its last lines are on the machine.' : detail}</p>
        </Note>
      ) : (
        <StepDetail step={step} />
      )}
    </li>
  );
}

const StepDetail = ({ step: { state, detail } }: { step: StepView }) => {
  const text = state === 'unreported' ? 'It happened; no time was reported' : detail;
  return text !== '' && <p className="small soft break">{text}.</p>;
};

/** Seconds since the installer started; without a start, how long ago. */
function StepTime({ time, startedAt }: { time: number | undefined; startedAt: number | undefined }) {
  if (time === undefined) return null;
  if (startedAt === undefined || time < startedAt || time - startedAt > 3_600_000)
    return (
      <span className="small soft push">
        <Ago at={time} />
      </span>
    );
  return (
    <time className="small soft push" dateTime={new Date(time).toISOString()} title={bothMoments(time)}>
      after {span(time - startedAt)}
    </time>
  );
}

function After({ view, machine }: { view: InstallationView; machine: Machine }) {
  return (
    <>
      {view.refused && (
        <Note tone="warn" isLive>
          <p>
            A computer at {view.refused.address} tried the line <Ago at={view.refused.time} /> and was refused: it works
            on one computer, within its time. If that was your machine, make a new line.
          </p>
        </Note>
      )}
      {view.isSilent && (
        <Note tone="warn" isLive>
          <p>
            The agent is installed, and has not connected since. On the machine, <code>platform-agent doctor</code> says
            why.
          </p>
        </Note>
      )}
      {view.isOnline && (
        <div>
          <Link to="/machines/$machineId/configure" params={{ machineId: machine.id }} className="button button-main">
            Open CONFIGURE
          </Link>
        </div>
      )}
    </>
  );
}
