import { useQuery } from '@connectrpc/connect-query';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { Card } from '../../../ui/layout.tsx';
import { FailureNote, Loading } from '../../../ui/messages.tsx';
import { BluetoothSetUp } from '../set-up/bluetooth-set-up.tsx';
import { useMachine } from '../../../entities/machine/machine-query.ts';
import { ReleaseService } from '@platform/contract/gen/platform/release/v1/release_pb';
import { installCommands } from '@platform/contract/provisioning/install-command';
import { CodeBlock, Command } from '../../../ui/copying.tsx';
import '../../../ui/style/adding.css';

/** CONNECT: credentials and the command that installs the agent, and the ways of a device into its network. */
export function ConnectTab() {
  const query = useMachine();
  const machine = query.data?.machine;
  if (machine === undefined) return query.error ? <FailureNote error={query.error} /> : <Loading />;
  return (
    <div className="stack">
      <Card title="Add this machine">
        <div className="card-body">
          <p>One line to paste, with a key that works once. The page shows each step until the machine is online.</p>
          <div>
            <Link to="/machines/add" search={{ machine: machine.id }} className="button button-main">
              Add this machine
            </Link>
          </div>
        </div>
      </Card>
      <ByCredentials partId={machine.partId} />
      <Card title="Give a device its network">
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
      </Card>
    </div>
  );
}

function ByCredentials({ partId }: { partId: string }) {
  const [isShown, setShown] = useState(false);
  return (
    <Card title="By the credentials file">
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
    </Card>
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

/** The credentials file of a machine and how to use it. */
function CredentialsHint({ credentials, scriptCommand }: { credentials: string; scriptCommand: string }) {
  const query = useQuery(ReleaseService.method.listReleases, { name: 'platform-agent' });
  const { linux, windows, missing } = installCommands(scriptCommand, query.data?.releases ?? []);
  return (
    <div className="stack">
      <ol className="steps">
        <li className="stack-tight">
          <p>
            Save this on the machine as <code>/etc/platform.json</code>, on Windows as{' '}
            <code className="break">C:\ProgramData\Platform\platform.json</code>. Whoever has it can act as the machine:
            keep it to its owner (mode 600).
          </p>
          <CodeBlock text={credentials} label="credentials" />
        </li>
        <li className="stack-tight">
          <p>Install the agent there. On Linux with systemd (x86_64, Raspberry Pi and other aarch64):</p>
          <Command text={linux} />
          {windows !== undefined && (
            <>
              <p>On Windows (x64, a preview), in PowerShell as administrator:</p>
              <Command text={windows} />
            </>
          )}
          {query.data && missing.length > 0 && (
            <p className="soft small">
              Not released yet for {missing.join(', ')}. A server that npm start runs releases it in the background;
              elsewhere use: platform release publish.
            </p>
          )}
          {query.error && <FailureNote error={query.error} />}
          <details>
            <summary className="small">Without systemd, from a checkout</summary>
            <Command text="node tools/setup.mjs apps/agent/src/main.ts --config machine.json --root .machine" />
          </details>
        </li>
        <li className="soft">
          The machine shows as online here within seconds. The agent installs and starts the machine server by itself.
        </li>
      </ol>
    </div>
  );
}
