import { useMutation, useQuery } from '@connectrpc/connect-query';
import { FleetService, OnlineState } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { CreateSetUpCodeResponse, Machine } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { setUpText, shownSetUpCode } from '@platform/contract/set-up-code';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { FormEvent } from 'react';
import { CodeBlock } from '../parts/copying.tsx';
import { TextField } from '../parts/fields.tsx';
import { BackIcon } from '../parts/icons.tsx';
import { FailureNote, Loading, Note } from '../parts/messages.tsx';
import { Ago, useNow } from '../parts/time.tsx';
import { useSession } from '../session.tsx';
import { isolateText } from '../view/user-text.ts';
import { msOf, span } from '../view/times.ts';

const route = getRouteApi('/machines/set-up');
const refreshMs = 2_000;

/** A user with a phone sets up a device that has a hotspot: name, code, then a wait until it is online. */
export function SetUpPage() {
  const { machine } = route.useSearch();
  return (
    <div className="page page-narrow">
      <title>Set up a device · Platform</title>
      <div className="page-head">
        <div>
          <Link to="/machines" className="crumb">
            <BackIcon />
            Machines
          </Link>
          <h1>Set up a device</h1>
        </div>
      </div>
      {machine === undefined ? <NameStep /> : <DeviceSteps machineId={machine} />}
    </div>
  );
}

/** The machine goes into the URL of the page: a phone that changes networks may load it again. */
function NameStep() {
  const { organization } = useSession();
  const { organizationId } = organization;
  const navigate = route.useNavigate();
  const [name, setName] = useState('');
  const creation = useMutation(FleetService.method.createMachine, {
    onSuccess: ({ machine }) => navigate({ search: { machine: machine?.id ?? '' }, replace: true }),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    creation.mutate({ organizationId, name: name.trim() });
  };
  return (
    <form className="card" onSubmit={submit}>
      <div className="card-body">
        <p>For a device that has the agent on it and no network yet. Your phone brings it online.</p>
        <TextField
          label="Name of the device"
          value={name}
          onChange={setName}
          maxLength={128}
          isRequired
          placeholder="for example press-3"
          hint="It can be any text that identifies the device to you."
        />
        {creation.error && <FailureNote error={creation.error} />}
        <div>
          <button type="submit" className="button button-main" disabled={name.trim() === '' || creation.isPending}>
            {creation.isPending ? 'Creating …' : 'Continue'}
          </button>
        </div>
      </div>
    </form>
  );
}

function DeviceSteps({ machineId }: { machineId: string }) {
  const query = useQuery(
    FleetService.method.getMachine,
    { id: machineId },
    { refetchInterval: refreshMs, retry: false },
  );
  const code = useMutation(FleetService.method.createSetUpCode);
  const machine = query.data?.machine;
  if (machine === undefined) return query.error ? <FailureNote error={query.error} /> : <Loading />;
  const isOnline = machine.onlineState === OnlineState.ONLINE;
  return (
    <div className="stack">
      {isOnline ? <Online machine={machine} /> : <Waiting machine={machine} isCut={query.error !== null} />}
      {!isOnline && (
        <section className="card" aria-label="What to do">
          <div className="card-body">
            {code.data ? (
              <Steps code={code.data} />
            ) : (
              <p>
                A code of eight letters brings {isolateText(machine.name)} its credentials. It works for one device,
                within 24 hours. A new code replaces the one before.
              </p>
            )}
            {code.error && <FailureNote error={code.error} />}
            <div>
              <button
                type="button"
                className={`button ${code.data ? 'button-small' : 'button-main'}`}
                disabled={code.isPending}
                onClick={() => code.mutate({ partId: machine.partId })}
              >
                {code.data ? 'Create another code' : 'Create the code'}
              </button>
            </div>
          </div>
        </section>
      )}
    </div>
  );
}

function Steps({ code: { code, serverUrl, expiresOn, isAuthorityOwn } }: { code: CreateSetUpCodeResponse }) {
  const now = useNow();
  const left = (msOf(expiresOn) ?? now) - now;
  if (left <= 0)
    return (
      <Note tone="warn" isLive>
        <p>The code has expired. Create another one.</p>
      </Note>
    );
  return (
    <>
      {isAuthorityOwn && (
        <Note tone="warn">
          <p>
            The certificate of this server comes from its own authority, which a new device does not trust. Enter the
            credentials file instead of the code: the menu of the machine shows it.
          </p>
        </Note>
      )}
      <ol className="steps">
        <li className="stack-tight">
          <p>Copy this, or note code and server. The code is valid for {span(left)}.</p>
          <dl className="pair-list">
            <div>
              <dt>Code</dt>
              <dd className="mono">{shownSetUpCode(code)}</dd>
            </div>
            <div>
              <dt>Server</dt>
              <dd className="mono break">{serverUrl}</dd>
            </div>
          </dl>
          <CodeBlock text={setUpText({ code, server: serverUrl })} label="set-up code" />
        </li>
        <li className="stack-tight">
          <p>Switch the device on, and join its WiFi with this phone.</p>
          <p className="small soft">
            Its name begins with <code>platform-setup</code>, and its password is <code>platformsetup</code>, unless the
            manufacturer chose others: see the label of the device.
          </p>
        </li>
        <li>A page opens by itself. Choose your WiFi network there, and paste the code as the device credentials.</li>
        <li className="soft">Come back here. This page goes on by itself when the phone has its network again.</li>
      </ol>
    </>
  );
}

const Online = ({ machine }: { machine: Machine }) => (
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
  </Note>
);

/** @param isCut - the phone cannot reach the server: it is on the hotspot of the device. */
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
    <details>
      <summary className="small">It does not come online</summary>
      <ul className="small">
        <li>A wrong WiFi password: after a minute the hotspot of the device is back, and its page says why.</li>
        <li>A wrong or expired code: the page of the device asks for another one.</li>
        <li>The device cannot reach this server from your WiFi network, for example because of a firewall.</li>
      </ul>
    </details>
  </Note>
);
