import { useQuery } from '@connectrpc/connect-query';
import { FleetService, OnlineState } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type {
  CreateInstallKeyResponse,
  GetInstallationResponse,
  Machine,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { ReleaseService } from '@platform/contract/gen/platform/release/v1/release_pb';
import {
  atAddress,
  containerNameOf,
  installCommands,
  keyedCommands,
} from '@platform/contract/provisioning/install-command';
import { isLoopbackUrl } from '@platform/contract/provisioning/loopback';
import { parseServerUrl } from '@platform/contract/provisioning/server-url';
import { useState } from 'react';
import type { ReactNode } from 'react';
import { Command, CopyMainButton } from '../../../ui/copying.tsx';
import { TextField } from '../../../ui/fields.tsx';
import { LockIcon } from '../../../ui/icons.tsx';
import { Card } from '../../../ui/layout.tsx';
import { FailureNote, Note } from '../../../ui/messages.tsx';
import { QrCode } from '../../../ui/qr-code.tsx';
import { Ago, useNow } from '../../../ui/time.tsx';
import type { AddWay } from './add-ways.ts';
import { isolateText } from '../../../ui/user-text.ts';
import { msOf, span, upcomingTime } from '../../../ui/times.ts';
import '../../../ui/style/adding.css';

export type LineKey = CreateInstallKeyResponse & { partId: string };
type LineWay = Exclude<AddWay, 'card' | 'phone'>;

interface InstallLineProps {
  way: LineWay;
  machine: Machine;
  /** Undefined: the page was loaded again, and knows no key. */
  lineKey: LineKey | undefined;
  error: unknown;
  isPending: boolean;
  onNewKey: () => void;
}

const titles: Readonly<Record<LineWay, string>> = {
  linux: 'Paste this line on the machine',
  windows: 'Paste this line in PowerShell, as administrator',
  container: 'Paste this line where the container runs',
};

/** The line with its one-time key, and what keeps machines from this server. */
export function InstallLine({ way, machine, lineKey, error, isPending, onNewKey }: InstallLineProps) {
  const { data } = useQuery(FleetService.method.getInstallation, { partId: machine.partId });
  const left = (msOf(lineKey?.expiresOn) ?? 0) - useNow();
  const isUsed = data?.usedOn !== undefined && machine.onlineState === OnlineState.ONLINE;
  const isShown = lineKey !== undefined && left > 0 && !isUsed;
  return (
    <Card title={isShown ? titles[way] : 'The install line'} className="add-line">
      <div className="card-body">
        {error !== null && <FailureNote error={error} />}
        {isShown ? (
          <LineOf way={way} machine={machine} lineKey={lineKey} />
        ) : (
          <NoLine installation={data} machine={machine} />
        )}
        <div>
          <button
            type="button"
            className={`button ${isShown || isUsed ? 'button-small' : 'button-main'}`}
            disabled={isPending}
            onClick={onNewKey}
          >
            {isPending ? 'Making the line …' : data?.createdOn ? 'Make a new line' : 'Make the line'}
          </button>
        </div>
      </div>
    </Card>
  );
}

/** Before the first line; or after the page was loaded again, which no longer knows the key. */
function NoLine({
  installation: data,
  machine,
}: {
  installation: GetInstallationResponse | undefined;
  machine: Machine;
}) {
  const left = (msOf(data?.expiresOn) ?? 0) - useNow();
  if (data?.usedOn)
    return (
      <p>
        The line was used <Ago at={msOf(data.usedOn)} />, and works on no other computer. To install this machine again,
        make a new one.
      </p>
    );
  if (data?.createdOn && left <= 0)
    return (
      <Note tone="warn" isLive>
        <p>The line has expired. Make a new one.</p>
      </Note>
    );
  if (data?.createdOn)
    return (
      <p>
        A line was made <Ago at={msOf(data.createdOn)} />, and works for {span(left)}. It is shown once. If the machine
        has it, wait here: a new line replaces it.
      </p>
    );
  return (
    <p>
      The line installs the agent and gives it the credentials of {isolateText(machine.name)}. Its key works once,
      within 24 hours. A new line replaces the one before.
    </p>
  );
}

function LineOf(props: { way: LineWay; machine: Machine; lineKey: LineKey }) {
  const { way, machine, lineKey } = props;
  const now = useNow();
  const [typed, setTyped] = useState('');
  const releases = useQuery(ReleaseService.method.listReleases, { name: 'platform-agent' });
  const address = parseServerUrl(typed);
  const isLoopback = isLoopbackUrl(lineKey.serverUrl);
  const url = isLoopback && address.ok ? address.value : lineKey.serverUrl;
  const found = releases.data?.releases ?? [];
  const at = atAddress({ ...lineKey, url: lineKey.serverUrl, scriptCommand: lineKey.installScriptCommand }, found, url);
  const commands = keyedCommands(at.install, at.agents, containerNameOf(machine.name));
  const text = commands[way];
  return (
    <>
      {isLoopback && <OtherAddress lineKey={lineKey} typed={typed} onType={setTyped} />}
      {text === undefined ? (
        <NoWindows isLoading={releases.isPending} />
      ) : (
        <Shell text={text}>
          <p className="row shell-key">
            <LockIcon />
            <span>
              One-time key: works once, for {isolateText(machine.name)} alone, until{' '}
              {upcomingTime(msOf(lineKey.expiresOn) ?? 0, now)}. Shown only now.
            </span>
          </p>
          <CopyMainButton text={text} label="Copy the line" />
        </Shell>
      )}
      <ServerNotes lineKey={lineKey} url={url} />
      <Requirements
        way={way}
        inContainer={commands.inContainer}
        missing={installCommands('', found).missing}
        isKnown={releases.data !== undefined}
      />
      {releases.error && <FailureNote error={releases.error} />}
      {text !== undefined && <LineCode text={text} />}
    </>
  );
}

const Shell = ({ text, children }: { text: string; children: ReactNode }) => (
  <div className="shell">
    <pre tabIndex={0} role="region" aria-label="Install line">
      {text}
    </pre>
    <div className="shell-foot">{children}</div>
  </div>
);

const NoWindows = ({ isLoading }: { isLoading: boolean }) => (
  <Note tone={isLoading ? 'busy' : 'warn'}>
    <p>
      {isLoading
        ? 'Looking for the agent …'
        : 'No agent for Windows is released in the channel stable. Release one with platform release publish, then this page shows its line.'}
    </p>
  </Note>
);

function OtherAddress(props: { lineKey: LineKey; typed: string; onType: (text: string) => void }) {
  const { lineKey, typed, onType } = props;
  const { protocol, port } = new URL(lineKey.serverUrl);
  const read = parseServerUrl(typed);
  const example = `${protocol}//fleet.example${port === '' ? '' : `:${port}`}`;
  const isOther = read.ok && !isLoopbackUrl(read.value);
  return (
    <Note tone="warn">
      <p>
        <strong>No other machine reaches {new URL(lineKey.serverUrl).host}.</strong> As it is, the line works on this
        computer alone. Enter the address by which the machine reaches this server, or start the server with{' '}
        <code>--public-url</code>. It must listen on more than this computer: <code>--host 0.0.0.0</code>.
      </p>
      <TextField
        label="Address of this server"
        value={typed}
        onChange={onType}
        placeholder={example}
        problem={typed === '' || read.ok ? undefined : `Not an address: ${read.problem}.`}
        hint={isOther ? 'The line uses this address.' : `For example ${example}`}
      />
    </Note>
  );
}

/** What the line does about the certificate, and what is not protected. */
function ServerNotes({ lineKey, url }: { lineKey: LineKey; url: string }) {
  const query = useQuery(FleetService.method.getInstallation, { partId: lineKey.partId });
  // The address has its own note.
  const problems = (query.data?.serverProblems ?? []).filter((text) => !text.includes(lineKey.serverUrl));
  return (
    <>
      {url.startsWith('http:') && !isLoopbackUrl(url) && (
        <Note tone="warn">
          <p>
            <strong>{url} has no TLS.</strong> Others in the network can read the key and the credentials. The signature
            of the agent is verified all the same, which needs openssl on the machine. Give the server a certificate (
            <code>--tls-cert</code>, <code>--tls-key</code>) before you add machines in networks of others.
          </p>
        </Note>
      )}
      {lineKey.authoritySha256 !== '' && (
        <Note tone="busy">
          <p>
            The certificate of this server is from an authority of its own, which systems do not know. The line brings
            the hash of this authority along, and stops if another server answers. The machine trusts it for this server
            alone.
          </p>
          <p className="small mono break">sha256 {lineKey.authoritySha256}</p>
        </Note>
      )}
      {problems.map((text) => (
        <Note key={text} tone="warn">
          <p>{text}</p>
        </Note>
      ))}
    </>
  );
}

interface RequirementsProps {
  way: LineWay;
  inContainer: string;
  missing: readonly string[];
  isKnown: boolean;
}

function Requirements({ way, inContainer, missing, isKnown }: RequirementsProps) {
  return (
    <>
      {way === 'linux' && (
        <p className="small soft">
          For Linux with systemd and curl: Debian, Ubuntu, Raspberry Pi OS (64 bit), Fedora and others. As root without
          sudo, leave out the word sudo. The machine must reach this server; nothing connects to the machine.
        </p>
      )}
      {way === 'windows' && (
        <p className="small soft">
          For Windows 10, 11 and Server on x64. The line compares the hash of the agent before it runs.
        </p>
      )}
      {way === 'container' && (
        <details>
          <summary className="small">In a container that runs already</summary>
          <div className="stack-tight">
            <p className="small soft">
              As root in it, with curl and the GNU C library. The line stays, and keeps the agent running.
            </p>
            <Command text={inContainer} />
          </div>
        </details>
      )}
      {isKnown && way !== 'windows' && missing.some((platform) => platform.startsWith('linux/')) && (
        <p className="small soft">
          Not released yet for {missing.filter((platform) => platform.startsWith('linux/')).join(', ')}. A server that
          npm start runs releases it in the background; elsewhere use: platform release publish.
        </p>
      )}
    </>
  );
}

/** For a phone or a scanner at the machine. */
function LineCode({ text }: { text: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="small">QR code of the line</summary>
      {isOpen && (
        <div className="qr-row">
          <QrCode text={text} label="QR code of the install line" />
          <p className="small soft">
            A phone that scans it has the line to paste, and a scanner at the machine types it. It contains the key:
            show it to no one else.
          </p>
        </div>
      )}
    </details>
  );
}
