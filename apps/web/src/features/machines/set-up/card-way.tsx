import { useMutation, useQuery } from '@connectrpc/connect-query';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { Machine } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { isLoopbackUrl } from '@platform/contract/provisioning/loopback';
import { useState } from 'react';
import { CodeBlock, Command, saveFile } from '../../../ui/copying.tsx';
import { TextField } from '../../../ui/fields.tsx';
import { DownloadIcon } from '../../../ui/icons.tsx';
import { Card } from '../../../ui/layout.tsx';
import { FailureNote, Note } from '../../../ui/messages.tsx';
import { isolateText } from '../../../ui/user-text.ts';
import '../../../ui/style/adding.css';

/** Files for cards and images on which the agent is installed before the first boot. */
export function CardWay({ machine }: { machine: Machine }) {
  return (
    <>
      <Card title="Save this file on the card" className="add-line">
        <div className="card-body">
          <p>
            For a card or a disk with the agent on it. Save the file on its boot partition, which every computer can
            write. At its next boot the device takes it, deletes it there, and comes online.
          </p>
          <CredentialsFile machine={machine} />
          <ServerProblems partId={machine.partId} />
        </div>
      </Card>
      <section className="card" aria-label="Prepare cards">
        <div className="card-body">
          <details>
            <summary>Install the agent on a card, before the first boot</summary>
            <Preinstall />
          </details>
          <details>
            <summary>One image for many devices</summary>
            <ManyDevices />
          </details>
        </div>
      </section>
    </>
  );
}

function CredentialsFile({ machine }: { machine: Machine }) {
  const file = useMutation(FleetService.method.getCredentials, {
    onSuccess: ({ credentialsJson }) => saveJson('platform.json', credentialsJson),
  });
  return (
    <>
      {file.error && <FailureNote error={file.error} />}
      <div>
        <button
          type="button"
          className="button button-main"
          disabled={file.isPending}
          onClick={() => file.mutate({ partId: machine.partId })}
        >
          <DownloadIcon />
          Download platform.json
        </button>
      </div>
      <p className="small soft">
        It holds the credentials of {isolateText(machine.name)}, without an end. Use it on one device, and keep no copy.
      </p>
    </>
  );
}

function ServerProblems({ partId }: { partId: string }) {
  const { data } = useQuery(FleetService.method.getInstallation, { partId });
  return (data?.serverProblems ?? []).map((text) => (
    <Note key={text} tone="warn">
      <p>{text}</p>
    </Note>
  ));
}

const Preinstall = () => {
  const server = isLoopbackUrl(window.location.origin) ? 'https://SERVER' : window.location.origin;
  return (
    <ol className="steps">
      <li className="stack-tight">
        <p>
          Download the agent of the device (
          <code>{server}/releases/platform-agent/VERSION/linux-arm64/platform-agent</code>
          ), the one of your computer, and the signed list.
        </p>
        <Command
          text={`curl -fO ${server}/releases/SHA256SUMS -fO ${server}/releases/SHA256SUMS.sig -fO ${server}/tuf/1.root.json`}
        />
      </li>
      <li className="stack-tight">
        <p>Mount the root file system of the card, and install into it.</p>
        <Command text="sudo ./platform-agent preinstall --target /media/rootfs --binary platform-agent-arm64 --sums SHA256SUMS --sig SHA256SUMS.sig --trusted-root 1.root.json" />
      </li>
      <li>Save the file above on the boot partition, and boot.</li>
    </ol>
  );
};

/** Manufacturer's defaults: devices without credentials ask their owners for them. */
function ManyDevices() {
  const [maker, setMaker] = useState('');
  const [model, setModel] = useState('');
  const network = {
    ...(maker.trim() !== '' && { manufacturer: maker.trim() }),
    ...(model.trim() !== '' && { model: model.trim() }),
  };
  const text = `${JSON.stringify({ network_configuration: network }, null, 2)}\n`;
  return (
    <div className="stack">
      <p>
        Leave the credentials out of the image. Each device then opens its hotspot, and its owner enters a set-up code
        there. The defaults name the device on that page.
      </p>
      <div className="form-grid">
        <TextField label="Manufacturer" value={maker} onChange={setMaker} maxLength={100} placeholder="platform" />
        <TextField label="Model" value={model} onChange={setModel} maxLength={100} placeholder="custom" />
      </div>
      <CodeBlock text={text} label="platform-defaults.json" />
      <div>
        <button type="button" className="button" onClick={() => saveJson('platform-defaults.json', text)}>
          <DownloadIcon />
          Download platform-defaults.json
        </button>
      </div>
      <Command text="sudo ./platform-agent preinstall … --defaults platform-defaults.json" />
    </div>
  );
}

const saveJson = (name: string, text: string): void => saveFile(name, new Blob([text], { type: 'application/json' }));
