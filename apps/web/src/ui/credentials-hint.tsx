import { useQuery } from '@connectrpc/connect-query';
import { ReleaseService } from '@platform/contract/gen/platform/release/v1/release_pb';
import { installCommands } from '@platform/contract/provisioning/install-command';
import { CodeBlock, Command } from './copying.tsx';
import { FailureNote } from './messages.tsx';

/** The credentials file of a machine and how to use it. */
export function CredentialsHint({ credentials, scriptCommand }: { credentials: string; scriptCommand: string }) {
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
