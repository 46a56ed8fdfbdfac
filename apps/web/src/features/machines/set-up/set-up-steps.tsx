import type { CreateSetUpCodeResponse, GetSetUpResponse } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { isHotspot, wifiQrText } from '@platform/contract/provisioning/hotspot';
import { setUpText, shownSetUpCode } from '@platform/contract/provisioning/set-up-code';
import { useState } from 'react';
import { CodeBlock } from '../../../ui/copying.tsx';
import { TextField } from '../../../ui/fields.tsx';
import { Pair } from '../../../ui/layout.tsx';
import { Note } from '../../../ui/messages.tsx';
import { QrCode } from '../../../ui/qr-code.tsx';
import { useNow } from '../../../ui/time.tsx';
import { msOf, span } from '../../../ui/times.ts';
import '../../../ui/style/adding.css';

/** What the user does with code, phone and device. */
export function SetUpSteps({ code, setUp }: { code: CreateSetUpCodeResponse; setUp: GetSetUpResponse | undefined }) {
  const left = (msOf(code.expiresOn) ?? 0) - useNow();
  if (left <= 0)
    return (
      <Note tone="warn" isLive>
        <p>The code has expired. Create another one.</p>
      </Note>
    );
  return (
    <ol className="steps">
      <li className="stack-tight">
        <p>Copy this, or note all of it. The code is valid for {span(left)}.</p>
        <Code code={code} />
      </li>
      <li className="stack">
        <p>Switch the device on, and join its WiFi with this phone. It appears after a few minutes.</p>
        <HotspotFields setUp={setUp} />
      </li>
      <li>A page opens by itself. Choose your WiFi network there, and paste the code as the device credentials.</li>
      <li className="soft">Come back here. This page goes on by itself when the phone has its network again.</li>
    </ol>
  );
}

function Code({ code: { code, serverUrl, authority } }: { code: CreateSetUpCodeResponse }) {
  const text = setUpText({ code, server: serverUrl, ...(authority !== '' && { authority }) });
  return (
    <>
      <dl className="pair-list">
        <Pair name="Code" className="mono">
          {shownSetUpCode(code)}
        </Pair>
        <Pair name="Server" className="mono break">
          {serverUrl}
        </Pair>
        {authority !== '' && (
          <Pair name="Authority of the server" isWide className="mono break">
            {shownSetUpCode(authority)}
          </Pair>
        )}
      </dl>
      <CodeBlock text={text} label="set-up code" />
      {authority !== '' && (
        <p className="small soft">
          No public authority issued the certificate of this server. The device recognizes it by the letters after the
          #, and trusts no other. An agent that refuses them is too old: give it the credentials file instead.
        </p>
      )}
    </>
  );
}

const standardPrefix = 'platform-setup-';

/** The name is known here only if the device has reported its hostname before. */
function HotspotFields({ setUp }: { setUp: GetSetUpResponse | undefined }) {
  const [entered, setEntered] = useState<{ ssid?: string; password?: string }>({});
  const known = setUp?.hotspotSsid ?? '';
  const { ssid = known || standardPrefix, password = setUp?.hotspotPassword ?? '' } = entered;
  const isComplete = ssid !== standardPrefix && isHotspot(ssid, password);
  return (
    <>
      <TextField
        label="Name of its WiFi"
        value={ssid}
        onChange={(value) => setEntered({ ...entered, ssid: value })}
        hint={
          known === ''
            ? 'As the phone lists it: platform-setup- and the hostname of the device, unless the manufacturer chose another. See its label.'
            : 'By the configuration of this machine and its last report.'
        }
      />
      <TextField
        label="Password of its WiFi"
        value={password}
        onChange={(value) => setEntered({ ...entered, password: value })}
        hint="Unless the manufacturer chose another: see the label of the device."
      />
      {isComplete ? (
        <div className="qr-row">
          <QrCode text={wifiQrText(ssid, password)} label={`QR code of the WiFi ${ssid}`} />
          <p className="small soft">
            Point the camera of a phone at it, and the phone joins. On this phone, choose the WiFi in its settings.
          </p>
        </div>
      ) : (
        <p className="small soft">
          Complete name and password (8 to 63 characters) for a QR code that a phone can scan.
        </p>
      )}
    </>
  );
}
