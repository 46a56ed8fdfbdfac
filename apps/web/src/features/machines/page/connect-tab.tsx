import { useQuery } from '@connectrpc/connect-query';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { CredentialsHint } from '../../../ui/credentials-hint.tsx';
import { FailureNote, Loading } from '../../../ui/messages.tsx';
import { BluetoothSetUp } from '../set-up/bluetooth-set-up.tsx';
import { useMachine } from '../../../entities/machine/machine-query.ts';
import '../../../ui/style/adding.css';

/** CONNECT: credentials and the command that installs the agent, and the ways of a device into its network. */
export function ConnectTab() {
  const query = useMachine();
  const machine = query.data?.machine;
  if (machine === undefined) return query.error ? <FailureNote error={query.error} /> : <Loading />;
  return (
    <div className="stack">
      <section className="card" aria-label="Add this machine">
        <div className="card-head">
          <h2>Add this machine</h2>
        </div>
        <div className="card-body">
          <p>One line to paste, with a key that works once. The page shows each step until the machine is online.</p>
          <div>
            <Link to="/machines/add" search={{ machine: machine.id }} className="button button-main">
              Add this machine
            </Link>
          </div>
        </div>
      </section>
      <ByCredentials partId={machine.partId} />
      <section className="card" aria-label="Give a device its network">
        <div className="card-head">
          <h2>Give a device its network</h2>
        </div>
        <div className="card-body stack">
          <h3>By Bluetooth</h3>
          <BluetoothSetUp machine={machine} />
          <h3>By its hotspot</h3>
          <p>A phone joins the WiFi of the device, and enters network and set-up code on the page that opens there.</p>
          <div>
            <Link to="/machines/set-up" search={{ machine: machine.id }} className="button">
              Set up by a code
            </Link>
          </div>
        </div>
      </section>
    </div>
  );
}

function ByCredentials({ partId }: { partId: string }) {
  const [isShown, setShown] = useState(false);
  return (
    <section className="card" aria-label="By the credentials file">
      <div className="card-head">
        <h2>By the credentials file</h2>
      </div>
      <div className="card-body stack">
        {isShown ? (
          <Credentials partId={partId} />
        ) : (
          <>
            <p>The machine needs its credentials file and the agent.</p>
            <div>
              <button type="button" className="button" onClick={() => setShown(true)}>
                Show credentials and commands
              </button>
            </div>
          </>
        )}
      </div>
    </section>
  );
}

/** Fetched when a user asks for it, and not kept. */
export function Credentials({ partId }: { partId: string }) {
  const query = useQuery(FleetService.method.getCredentials, { partId }, { gcTime: 0, staleTime: Infinity });
  if (query.error) return <FailureNote error={query.error} />;
  if (!query.data) return <Loading />;
  const { credentialsJson, installScriptCommand } = query.data;
  return <CredentialsHint credentials={credentialsJson} scriptCommand={installScriptCommand} />;
}
