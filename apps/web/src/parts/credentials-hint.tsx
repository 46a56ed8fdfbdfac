import { CodeBlock, Command } from './copying.tsx';

/** The credentials file of a machine and how to use it. */
export const CredentialsHint = ({ credentials, scriptCommand }: { credentials: string; scriptCommand: string }) => (
  <div className="stack">
    <ol className="steps">
      <li className="stack-tight">
        <p>
          Save this on the machine as <code>/etc/platform.json</code>. Whoever has it can act as the machine: keep it to
          its owner (mode 600).
        </p>
        <CodeBlock text={credentials} label="credentials" />
      </li>
      <li className="stack-tight">
        <p>Install the agent there (Linux with systemd):</p>
        <Command text={`${scriptCommand} | sudo sh`} />
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
