import { useMutation, useQuery } from '@connectrpc/connect-query';
import {
  FleetService,
  OnlineState,
  type GetSetUpResponse,
  type Machine,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { getRouteApi, Link } from '@tanstack/react-router';
import { BackLink, PageHead, Card } from '../../../ui/layout.tsx';
import { FailureNote, Loading, Note } from '../../../ui/messages.tsx';
import { Ago, useNow } from '../../../ui/time.tsx';
import { isolateText } from '../../../ui/user-text.ts';
import { msOf, span } from '../../../ui/times.ts';
import { NewMachine, useFirstFragment } from './device-fragment.tsx';
import { SetUpSteps } from './set-up-steps.tsx';
import { type Diagnostic, setUpDiagnostics } from './set-up.ts';
import '../../../ui/style/adding.css';

const route = getRouteApi('/machines/set-up');
const refreshMs = 2_000;

/** A user with a phone sets up a device that has a hotspot: name, code, then a wait until it is online. */
export function SetUpPage() {
  const { machine, fragment } = route.useSearch();
  const first = useFirstFragment();
  return (
    <div className="page page-narrow">
      <title>Set up a device · Platform</title>
      <PageHead back={<BackLink to="/machines">Machines</BackLink>} title="Set up a device" />
      {first.error && <FailureNote error={first.error} />}
      {machine === undefined ? <NameStep named={fragment ?? ''} first={first} /> : <DeviceSteps machineId={machine} />}
    </div>
  );
}

/** The machine goes into the URL of the page: a phone that changes networks may load it again. */
function NameStep({ named, first }: { named: string; first: ReturnType<typeof useFirstFragment> }) {
  const navigate = route.useNavigate();
  const start = async ({ id, partId }: Machine, fragmentId: string): Promise<void> => {
    // A machine without its fragment is set up, too; the page shows the failure.
    if (fragmentId !== '') await first.start(partId, fragmentId).catch(() => undefined);
    await navigate({ search: { machine: id }, replace: true });
  };
  return (
    <NewMachine
      what="device"
      lead="For a device that has the agent on it and no network yet. Your phone brings it online."
      named={named}
      onCreated={start}
    />
  );
}

export function DeviceSteps({ machineId }: { machineId: string }) {
  const query = useQuery(
    FleetService.method.getMachine,
    { id: machineId },
    { refetchInterval: refreshMs, retry: false },
  );
  const machine = query.data?.machine;
  if (machine === undefined) return query.error ? <FailureNote error={query.error} /> : <Loading />;
  return <KnownDevice machine={machine} isCut={query.error !== null} />;
}

/** @param isCut - the phone cannot reach the server: it is on the hotspot of the device. */
function KnownDevice({ machine, isCut }: { machine: Machine; isCut: boolean }) {
  const { partId } = machine;
  const setUp = useQuery(
    FleetService.method.getSetUp,
    { partId },
    { refetchInterval: refreshMs, retry: false, enabled: partId !== '' },
  );
  const code = useMutation(FleetService.method.createSetUpCode, { onSuccess: () => setUp.refetch() });
  if (machine.onlineState === OnlineState.ONLINE) return <Online machine={machine} setUp={setUp.data} />;
  const hasCode = code.data !== undefined || setUp.data?.createdOn !== undefined;
  return (
    <div className="stack">
      <Waiting machine={machine} isCut={isCut} />
      <section className="card" aria-label="What to do">
        <div className="card-body">
          {code.data ? (
            <SetUpSteps code={code.data} setUp={setUp.data} />
          ) : (
            <CodeText name={machine.name} setUp={setUp.data} />
          )}
          {code.error && <FailureNote error={code.error} />}
          <div>
            <button
              type="button"
              className={`button ${hasCode ? 'button-small' : 'button-main'}`}
              disabled={code.isPending}
              onClick={() => code.mutate({ partId })}
            >
              {hasCode ? 'Create another code' : 'Create the code'}
            </button>
          </div>
        </div>
      </section>
      {hasCode && setUp.data && <SetUpDiagnostics machine={machine} setUp={setUp.data} />}
    </div>
  );
}

/** Before a code is created; or after the page was loaded again, which no longer knows the letters. */
function CodeText({ name, setUp }: { name: string; setUp: GetSetUpResponse | undefined }) {
  const now = useNow();
  const left = (msOf(setUp?.expiresOn) ?? 0) - now;
  if (setUp?.createdOn === undefined || left <= 0)
    return (
      <p>
        A code of eight letters brings {isolateText(name)} its credentials. It works for one device, within 24 hours. A
        new code replaces the one before.
      </p>
    );
  return (
    <p>
      A code was created <Ago at={msOf(setUp.createdOn)} />, and is valid for {span(left)}. Its letters are not stored.
      If the device has it, wait here: another code would replace it.
    </p>
  );
}

const Online = ({ machine, setUp }: { machine: Machine; setUp: GetSetUpResponse | undefined }) => (
  <Note
    tone="good"
    isLive
    action={
      <Link to="/machines/$machineId" params={{ machineId: machine.id }} className="button button-main">
        Open
      </Link>
    }
  >
    <p>
      <strong>{machine.name}</strong> is online.
    </p>
    {setUp?.redeemedOn && (
      <p className="small">
        It redeemed the code <Ago at={msOf(setUp.redeemedOn)} />.
      </p>
    )}
  </Note>
);

const Waiting = ({ machine, isCut }: { machine: Machine; isCut: boolean }) => (
  <Note tone="busy" isLive>
    {isCut ? (
      <p>This phone has no connection to the server now, for example because it is on the hotspot of the device.</p>
    ) : machine.lastSeen ? (
      <p>
        {isolateText(machine.name)} was seen <Ago at={msOf(machine.lastSeen)} /> and is offline.
      </p>
    ) : (
      <p>Waiting for {isolateText(machine.name)}. It has not come online yet.</p>
    )}
  </Note>
);

/** Why the device is not online: what the server measured, and what it cannot know. */
function SetUpDiagnostics({ machine, setUp }: { machine: Machine; setUp: GetSetUpResponse }) {
  const diagnostics = setUpDiagnostics(setUp, { lastSeen: msOf(machine.lastSeen), now: useNow() });
  const [measured, guessed] = [diagnostics.filter((one) => !one.isGuess), diagnostics.filter((one) => one.isGuess)];
  return (
    <Card title="What the server knows">
      <div className="card-body">
        {measured.length === 0 && <p>No device has tried this code.</p>}
        <DiagnosticList diagnostics={measured} />
        {guessed.length > 0 && (
          <>
            <h3>Perhaps this device</h3>
            <DiagnosticList diagnostics={guessed} />
          </>
        )}
        <details>
          <summary className="small">What it cannot know</summary>
          <p className="small soft">
            A device that does not reach this server leaves no trace here. It has a wrong WiFi password, no internet, a
            firewall in between, a mistyped server address, or it does not accept the certificate. The page of its
            hotspot says which of these it is: after a failed attempt the hotspot is back within a minute.
          </p>
        </details>
      </div>
    </Card>
  );
}

const DiagnosticList = ({ diagnostics }: { diagnostics: readonly Diagnostic[] }) => (
  <ul className="diagnostic-list">
    {diagnostics.map(({ tone, text, time }) => (
      <li key={`${text} ${time}`} className={`diagnostic is-${tone}`}>
        {text.replace(/\.$/, '')}
        {time !== undefined && (
          <>
            , <Ago at={time} />
          </>
        )}
        .
      </li>
    ))}
  </ul>
);
