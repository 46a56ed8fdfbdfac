import { useMutation } from '@connectrpc/connect-query';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import type { Machine } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { setUpText } from '@platform/contract/provisioning/set-up-code';
import { useEffect, useState } from 'react';
import type { FormEvent } from 'react';
import { DeviceFragment, useFirstFragment } from './device-fragment.tsx';
import { SelectField, TextField } from '../../../ui/fields.tsx';
import { Note } from '../../../ui/messages.tsx';
import { useClock } from '../../../ui/time.tsx';
import { bluetoothRadio, type DeviceState, findDevice, type NearbyDevice, PasswordRefused } from './bluetooth.ts';

const pollMs = 1_000;
/** A device joins a network within a minute. */
const waitMs = 120_000;
const otherNetwork = '';

/** Gives a device nearby its network, and its credentials if it has none, over Bluetooth. */
export function BluetoothSetUp({ machine }: { machine: Machine }) {
  const radio = bluetoothRadio();
  const [device, setDevice] = useState<{ nearby: NearbyDevice; state: DeviceState }>();
  const [problem, setProblem] = useState('');
  const [isBusy, setBusy] = useState(false);
  useEffect(() => () => device?.nearby.disconnect(), [device?.nearby]);
  if (!radio) return <NoRadio />;
  const find = async (): Promise<void> => {
    setBusy(true);
    setProblem('');
    try {
      const nearby = await findDevice(radio);
      setDevice({ nearby, state: await nearby.read() });
    } catch (error) {
      const isNone = error instanceof DOMException && error.name === 'NotFoundError';
      setProblem(isNone ? 'No device was chosen.' : `The device cannot be used: ${textOf(error)}.`);
    } finally {
      setBusy(false);
    }
  };
  return (
    <div className="stack">
      <p>
        A device without a network offers Bluetooth while its hotspot runs. Stand close to it. Your phone keeps its own
        network.
      </p>
      {problem !== '' && (
        <Note tone="warn" isLive>
          <p>{problem}</p>
        </Note>
      )}
      <div>
        <button
          type="button"
          className={`button ${device ? 'button-small' : 'button-main'}`}
          disabled={isBusy}
          onClick={() => void find()}
        >
          {isBusy ? 'Looking …' : device ? 'Find another device' : 'Find the device'}
        </button>
      </div>
      {device && <DeviceForm key={device.state.name} machine={machine} {...device} />}
    </div>
  );
}

const NoRadio = () => (
  <Note tone="quiet">
    <p>
      {globalThis.isSecureContext
        ? 'This browser cannot use Bluetooth. Chrome and Edge can, on Android, Windows, macOS and ChromeOS; iPhones, iPads and Firefox cannot.'
        : 'Browsers offer Bluetooth only to pages that come over https.'}{' '}
      Set the device up by its hotspot.
    </p>
  </Note>
);

type Progress = { is: 'ready' | 'sending' | 'joining' | 'online' } | { is: 'failed'; why: string };

/** Sends what the user entered, and waits for what came of it. */
function useSending({ machine, nearby, state }: DeviceProps) {
  const clock = useClock();
  const code = useMutation(FleetService.method.createSetUpCode);
  const first = useFirstFragment();
  const [progress, setProgress] = useState<Progress>({ is: 'ready' });
  const send = async (hotspotPassword: string, wifi: { ssid: string; psk: string }): Promise<void> => {
    setProgress({ is: 'sending' });
    try {
      const made = state.hasCredentials ? undefined : await code.mutateAsync({ partId: machine.partId });
      const { code: letters = '', serverUrl: server = '', authority = '' } = made ?? {};
      const text = setUpText({ code: letters, server, ...(authority !== '' && { authority }) });
      await nearby.enter(hotspotPassword, { wifi, ...(made && { credentials: { setUpCode: text } }) });
      if (state.fragmentId !== '' && machine.wantedRevision === 0n)
        // The device is connected all the same; the page shows the failure.
        await first.start(machine.partId, state.fragmentId).catch(() => undefined);
      setProgress({ is: 'joining' });
      setProgress(await outcome(nearby, clock));
    } catch (error) {
      setProgress({ is: 'failed', why: whyNot(error) });
    }
  };
  return { progress, send, fragmentError: first.error };
}

interface DeviceProps {
  machine: Machine;
  nearby: NearbyDevice;
  state: DeviceState;
}

function DeviceForm(props: DeviceProps) {
  const { machine, state } = props;
  const { progress, send, fragmentError } = useSending(props);
  const [fields, setFields] = useState<Fields>({
    hotspot: '',
    pick: state.networks[0]?.ssid ?? otherNetwork,
    ssid: '',
    psk: '',
  });
  const ssid = fields.pick === otherNetwork ? fields.ssid : fields.pick;
  const isBusy = progress.is === 'sending' || progress.is === 'joining';
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void send(fields.hotspot, { ssid, psk: fields.psk });
  };
  return (
    <form className="stack" onSubmit={submit} aria-label="Network of the device">
      <p>
        Connected to <strong>{state.name || 'a device'}</strong>
        {state.model !== '' && <span className="soft"> · {state.model}</span>}
      </p>
      {state.fragmentId !== '' && (
        <DeviceFragment machine={machine} fragmentId={state.fragmentId} error={fragmentError} />
      )}
      <EntryFields fields={fields} networks={state.networks} onChange={setFields} />
      <p className="small soft">
        {state.hasCredentials
          ? 'The device has its credentials already, and keeps them.'
          : `The device has no credentials yet. It gets a set-up code for ${machine.name}, which replaces an earlier one.`}
      </p>
      <div>
        <button type="submit" className="button button-main" disabled={isBusy || ssid === ''}>
          {isBusy ? 'Connecting …' : 'Connect the device'}
        </button>
      </div>
      <Outcome progress={progress} name={machine.name} />
    </form>
  );
}

type Fields = Record<'hotspot' | 'pick' | 'ssid' | 'psk', string>;

function EntryFields({
  fields,
  networks,
  onChange,
}: {
  fields: Fields;
  networks: DeviceState['networks'];
  onChange: (fields: Fields) => void;
}) {
  const set = (name: keyof Fields) => (value: string) => onChange({ ...fields, [name]: value });
  const listed = networks.map(({ ssid, signalPercent, isSecured }) => ({
    value: ssid,
    text: `${ssid} · ${signalPercent} %${isSecured ? '' : ' · open'}`,
  }));
  return (
    <>
      <SelectField
        label="WiFi network"
        value={fields.pick}
        onChange={set('pick')}
        options={[...listed, { value: otherNetwork, text: 'Another or hidden network' }]}
      />
      {fields.pick === otherNetwork && (
        <TextField label="Name of the network" value={fields.ssid} onChange={set('ssid')} />
      )}
      <TextField
        label="WiFi password"
        value={fields.psk}
        onChange={set('psk')}
        hint="Leave it empty for an open network."
      />
      <TextField
        label="Password of the device's hotspot"
        value={fields.hotspot}
        onChange={set('hotspot')}
        isRequired
        hint="It protects what you send. See the label of the device; its standard value is platformsetup."
      />
    </>
  );
}

function Outcome({ progress, name }: { progress: Progress; name: string }) {
  if (progress.is === 'ready') return null;
  if (progress.is === 'failed')
    return (
      <Note tone="bad" isLive>
        <p>{progress.why}</p>
      </Note>
    );
  return progress.is === 'online' ? (
    <Note tone="good" isLive>
      <p>The device has joined the network. {name} shows as online here once it has reached the server.</p>
    </Note>
  ) : (
    <Note tone="busy" isLive>
      <p>{progress.is === 'sending' ? 'Sending …' : 'The device is joining the network. That takes up to a minute.'}</p>
    </Note>
  );
}

/** Waits until the device knows what came of it. */
async function outcome(nearby: NearbyDevice, clock: ReturnType<typeof useClock>): Promise<Progress> {
  for (const end = clock.now() + waitMs; clock.now() < end; await clock.sleep(pollMs)) {
    const { errors, isOnline } = await nearby.read();
    const [why] = errors.toReversed();
    if (why !== undefined) return { is: 'failed', why };
    if (isOnline) return { is: 'online' };
  }
  return {
    is: 'failed',
    why: 'The device did not answer within two minutes. Look at the NETWORK tab, or find it again.',
  };
}

function whyNot(error: unknown): string {
  if (error instanceof PasswordRefused)
    return 'The device refused it. The password of its hotspot is wrong; after ten wrong ones, it refuses all for a minute.';
  if (error instanceof RangeError)
    return `This is too long for Bluetooth: ${error.message}. Use the hotspot of the device.`;
  return `The connection to the device is lost: ${textOf(error)}. Find it again.`;
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message.replace(/\.$/, '') : String(error));
