import { standardLimits } from '../state-machines/server-process.ts';

/** The systemd units of the agent and of the machine server, which the agent creates. */
export const agentUnit = 'platform-agent.service';
export const serverUnit = 'platform-server.service';
/** The relay, which reads the machine server's output. */
export const relayUnit = 'platform-server-output.service';

/** The agent kills the server within this time. */
export const serverStopSeconds = Math.ceil((standardLimits.term + standardLimits.quit + standardLimits.kill) / 1000);
/** After that it sends its last lines and exits; systemd must not kill it earlier. */
export const agentStopSeconds = serverStopSeconds + 45;

export interface UnitOf {
  /** Absolute path. */
  root: string;
  /** Absolute path. */
  credentialsFile: string;
}

/**
 * Settings of the program's runtime. It only interprets: the agent has no hot code, so a JIT compiler would cost a
 * sixth of its memory for no gain. (Without any JIT there is no FFI, and without that no READY.) Crash reports are
 * never sent automatically.
 */
export const runtimeEnvironment: Readonly<Record<string, string>> = {
  BUN_JSC_useBaselineJIT: '0',
  BUN_JSC_useDFGJIT: '0',
  BUN_JSC_useFTLJIT: '0',
  BUN_ENABLE_CRASH_REPORTING: '0',
  DO_NOT_TRACK: '1',
};
/**
 * For the relay: two threads block in reads of its pipes. Each of its three files may block one more while the disk
 * hangs. By default the runtime has one thread per processor, which may be one.
 */
export const relayEnvironment: Readonly<Record<string, string>> = { ...runtimeEnvironment, UV_THREADPOOL_SIZE: '8' };
const environmentWords = Object.entries(runtimeEnvironment).map(([name, value]) => `${name}=${value}`);

/** Relative to the root. `NAME="value"` lines, readable by root only: the URL of a proxy can contain a password. */
export const unitEnvironmentFile = 'state/environment';

/**
 * Text of the agent's unit. It keeps a machine reachable: it restarts the agent without limit (the gate handles bad
 * versions) and kills an agent that hangs. It does not touch the machine server, which has a unit of its own.
 */
export const unitText = ({ root, credentialsFile }: UnitOf): string => `[Unit]
Description=Platform agent
# Not network-online: the machine server has to start without a network, too.
After=dbus.service NetworkManager.service bluetooth.service
StartLimitIntervalSec=0

[Service]
Type=notify
NotifyAccess=main
ExecStartPre=-/bin/sh ${word(`${root}/lib/gate`)} ${word(root)}
ExecStart=${word(`${root}/bin/platform-agent`)} run --root ${word(root)} --config ${word(credentialsFile)}
EnvironmentFile=-${specifiers(`${root}/${unitEnvironmentFile}`)}
Environment=${environmentWords.join(' ')}
UnsetEnvironment=BUN_OPTIONS BUN_BE_BUN BUN_INSPECT NODE_OPTIONS LD_PRELOAD
Restart=always
RestartSec=5
TimeoutStartSec=90
TimeoutStopSec=${agentStopSeconds}
WatchdogSec=60
KillMode=mixed
OOMScoreAdjust=-500
LimitCORE=0
ProtectSystem=yes
ProtectHome=read-only
ReadWritePaths=-${word(root)}
ProtectKernelModules=yes
LockPersonality=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native

[Install]
WantedBy=multi-user.target
`;

const startSettings = /^(Type|NotifyAccess|ExecStartPre|ExecStart|Restart|RestartSec|WatchdogSec)=/;

/**
 * Makes a unit with all settings of `text`. It checks write access below the root and runs this program once, to print
 * its version. Undefined: the text has no [Service] section.
 */
export function checkedUnit(text: string, root: string): string | undefined {
  const [head] = text.split(/^\[Install\]$/m);
  if (!head || !/^\[Service\]$/m.test(head)) return undefined;
  const lines = head.split('\n').filter((line) => !startSettings.test(line));
  const program = word(`${root}/bin/platform-agent`);
  const start = [
    'Type=oneshot',
    `ExecStart=/bin/sh -c 'test -w "$$1"' sh ${word(`${root}/state`)}`,
    `ExecStart=${program} version`,
  ];
  return lines.join('\n').replace(/^\[Service\]$/m, ['[Service]', ...start].join('\n'));
}

/** Quotes a word of a command line for systemd. */
const word = (text: string): string => {
  const plain = specifiers(text).replaceAll('$', '$$$$');
  return /^[A-Za-z0-9_@%+=:,./$-]+$/.test(plain) ? plain : `"${plain.replace(/["\\]/g, '\\$&')}"`;
};

const specifiers = (text: string): string => text.replaceAll('%', '%%');
