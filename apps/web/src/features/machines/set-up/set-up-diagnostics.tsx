import type { GetSetUpResponse, Machine } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { Ago, useNow } from '../../../ui/time.tsx';
import { type Diagnostic, setUpDiagnostics } from './set-up.ts';
import { msOf } from '../../../ui/times.ts';

/** Why the device is not online: what the server measured, and what it cannot know. */
export function SetUpDiagnostics({ machine, setUp }: { machine: Machine; setUp: GetSetUpResponse }) {
  const diagnostics = setUpDiagnostics(setUp, { lastSeen: msOf(machine.lastSeen), now: useNow() });
  const [measured, guessed] = [diagnostics.filter((one) => !one.isGuess), diagnostics.filter((one) => one.isGuess)];
  return (
    <section className="card" aria-label="What the server knows">
      <div className="card-head">
        <h2>What the server knows</h2>
      </div>
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
    </section>
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
