import { command, type Command } from './command.ts';
import {
  diagnosticsOptions,
  installOptions,
  logsOptions,
  preinstallOptions,
  prepareOptions,
  provisionOptions,
  uninstallOptions,
} from './option-tables.ts';
import { migrateBackOptions, takeOverOptions } from './take-over-options.ts';
import { jsonOption, placeOptions, runOptions } from './run-options.ts';

const programWord = { type: 'rest', words: 'agent|server', description: 'agent or server.' } as const;

/** All commands, in the order of the help. */
export const commands: readonly Command[] = [
  command({
    name: 'run',
    summary: 'Keep the machine server installed, running and up to date (also without a command)',
    about:
      'Keeps the machine server of one machine installed, running and up to date, until a signal stops both. systemd runs this.',
    table: runOptions,
    load: async () => (await import('./run.ts')).run,
  }),
  command({
    name: 'install',
    summary: 'Install this program as a service and start it',
    about:
      'Checks the machine, fetches its credentials with a part ID and an API key or uses the ones it already has, copies this program below the root folder, and makes systemd start it now and at every boot. If a step fails, the previous installation keeps running. Running it again changes nothing.',
    table: installOptions,
    load: async () => (await import('./install.ts')).install,
  }),
  command({
    name: 'preinstall',
    summary: 'Install the agent in the mounted root file system of a device, for its first boot',
    about:
      'Verifies the agent with the signed list of the management server, without a network, and installs it in a disk image or on a card. At the first boot the device reads its credentials from platform.json on the boot partition, or gets them from its owner during provisioning.',
    table: preinstallOptions,
    load: async () => (await import('./preinstall.ts')).preinstall,
  }),
  command({
    name: 'prepare-image',
    summary: 'Remove the identity of this machine before its disk becomes an image',
    about:
      'Removes the credentials, the configuration, the quarantine and everything else that belongs to this machine below the root folder. Keeps the programs with their versions, so that a device made from the image starts like a preinstalled one. Fails while the agent runs. Running it again changes nothing. The machine ID and the SSH host keys are left to the operating system.',
    table: prepareOptions,
    load: async () => (await import('./prepare-image.ts')).prepare,
  }),
  command({
    name: 'uninstall',
    summary: 'Stop and remove agent, machine server, their data and credentials',
    about:
      'Reverts everything that install changed and deletes the folder of the agent and the credentials. The network in use and the networks that a user entered at the hotspot are left to the system. Asks for confirmation; without a terminal, --yes is required.',
    table: uninstallOptions,
    load: async () => (await import('./uninstall.ts')).uninstall,
  }),
  command({
    name: 'migrate-back',
    summary: "Return the machine to the other product's agent that a migration replaced",
    about:
      "Restores the program and the record of the other agent, stops and disables platform-agent and its machine server, then enables and starts the other agent's service. If that service does not start, platform-agent is started again. platform-agent stays installed: `uninstall` removes it. Asks for confirmation; without a terminal, --yes is required.",
    table: migrateBackOptions,
    load: async () => (await import('./migrate-back.ts')).migrateBack,
  }),
  command({
    name: 'status',
    summary: 'Show what runs, what is desired, and why they differ',
    about:
      'Shows the status that the running agent reports. If no agent runs, shows the state stored in its folder and exits with 3. docs/generated/agent.md describes the members of the JSON document.',
    table: { root: placeOptions.root, ...jsonOption },
    load: async () => (await import('./status.ts')).status,
  }),
  command({
    name: 'doctor',
    summary: 'Find problems, and show what to do about them',
    about:
      'Checks the service, the programs on disk, the credentials, the connection to the management server, the clock and the free disk space. Changes nothing. Exits with 1 if a check failed; with only warnings and notes it exits with 0.',
    table: { ...placeOptions, ...jsonOption },
    load: async () => (await import('./doctor.ts')).doctor,
  }),
  command({
    name: 'logs',
    summary: 'Show the last log lines of the agent, or of the machine server (--server)',
    about:
      "The agent's log is in the systemd journal. For the machine server, stderr (warnings and errors) is shown; --stdout adds its standard output.",
    table: logsOptions,
    load: async () => (await import('./logs.ts')).logs,
  }),
  command({
    name: 'diagnostics',
    summary: 'Write a support bundle (zip)',
    about:
      'Contains the status, the results of `doctor`, the configuration, the versions, the systemd unit, the last log lines and the state of disks, clock and network. Secrets from credentials, configuration, defaults and proxy settings are redacted in every file.',
    table: diagnosticsOptions,
    load: async () => (await import('./diagnostics.ts')).diagnostics,
  }),
  command({
    name: 'provision',
    summary: 'Show or set the credentials of this machine',
    about:
      'Without --credentials and --code: shows the part ID of this machine, or how it gets its credentials (exit code 5 while it has none). With --credentials: checks the credentials and stores them, readable by root only. With --code: fetches them from the management server. If the server cannot be reached, the code is stored and the agent redeems it later. A running agent uses new credentials at once.',
    table: provisionOptions,
    load: async () => (await import('./provision.ts')).provision,
  }),
  command({
    name: 'update',
    summary: 'Check for updates now, and retry failed ones',
    about:
      'Makes the running agent check at once, shows the progress of downloads and the result. A new version is used from the next restart on, which happens as configured. Exits with 5 if nothing was new, and with 1 if a desired version could not be installed.',
    table: {
      root: placeOptions.root,
      wait: {
        type: 'number',
        env: '',
        min: 0,
        max: 86_400,
        default: 600,
        description: 'Longest time to wait for downloads, in seconds.',
      },
      ...jsonOption,
    },
    load: async () => (await import('./update.ts')).update,
  }),
  command({
    name: 'rollback',
    summary: 'Return to the previous version of the agent or server, without a download',
    about:
      'Switches to the previous version, which is still on the disk of this machine, and pins it: `pin agent|server --off` removes the pin. Also works while no agent runs, for example because it does not start.',
    table: { program: programWord, root: placeOptions.root, ...jsonOption },
    load: async () => (await import('./versions.ts')).rollback,
  }),
  command({
    name: 'pin',
    summary: 'Keep the agent or server at a version, whatever the configuration asks for',
    about:
      'VERSION is a version stored on this machine, or a URL (https://, file://; http:// with #sha256=HEX). The pin applies to this machine only; `status` and the management app show it. --off removes it.',
    table: {
      program: { type: 'rest', words: 'agent|server VERSION', description: 'agent or server, then the version.' },
      root: placeOptions.root,
      off: { type: 'boolean', env: '', description: 'Remove the pin.' },
      ...jsonOption,
    },
    load: async () => (await import('./versions.ts')).pin,
  }),
  command({
    name: 'clear',
    summary: 'Allow quarantined versions of the agent or server to be tried again',
    about: 'A version that failed its trial on this machine is quarantined. After this command it is tried once more.',
    table: { program: programWord, root: placeOptions.root, ...jsonOption },
    load: async () => (await import('./versions.ts')).clear,
  }),
  command({
    name: 'supervise',
    summary: 'Start and watch the agent where there is no systemd, such as in a container',
    about:
      'Installs this program below --root if no version is installed there, keeps the agent running, stops it if it hangs, and rolls back a version that fails. Runs until a signal.',
    table: placeOptions,
    load: async () => (await import('./supervise.ts')).supervise,
  }),
  command({
    name: 'service',
    summary: 'Entry point for the Windows service manager',
    about: 'The Windows service manager starts this; users do not.',
    table: placeOptions,
    isHidden: true,
    load: async () => (await import('./windows-supervise.ts')).superviseOnWindows,
  }),
  command({
    name: 'interrupt',
    summary: 'Send Ctrl+C to the console of a process; an agent on Windows calls this for itself',
    about: 'Joins the console of that process. Fails if its own parent shares the console.',
    table: {
      pid: { type: 'number', env: '', min: 1, max: 4_294_967_295, default: 0, description: 'ID of the process.' },
    },
    isHidden: true,
    load: async () => (await import('./interrupt.ts')).interrupt,
  }),
  command({
    name: 'take-over',
    summary: "Take the place of another product's agent",
    about: "The service of another product's agent starts this with the options of that agent; users do not.",
    table: takeOverOptions,
    isHidden: true,
    load: async () => (await import('./take-over.ts')).takeOver,
  }),
  command({
    name: 'unit',
    summary: 'Print the systemd unit of this version',
    about: 'An agent runs this in a new version before it switches to it.',
    table: placeOptions,
    isHidden: true,
    load: async () => (await import('./unit.ts')).printUnit,
  }),
  command({
    name: 'fetch',
    summary: 'Fetch a release; an agent calls this for itself',
    about: 'Reads the task as JSON from stdin and writes JSON lines to stdout.',
    table: {},
    isHidden: true,
    load: async () => (await import('./fetch.ts')).fetchOne,
  }),
  command({
    name: 'relay',
    summary: 'Read what the machine server writes; an agent calls this for itself',
    about: 'Reads the pipes and the socket of the machine server into bounded files until the machine server exits.',
    table: { root: placeOptions.root },
    isHidden: true,
    load: async () => (await import('./relay.ts')).relay,
  }),
  command({
    name: 'endpoints',
    summary: 'Serve the pages of the hotspot; an agent calls this for itself',
    about: 'Serves unauthenticated clients on two inherited sockets, or over Bluetooth. Reads and writes JSON lines.',
    table: {
      bluetooth: { type: 'boolean', env: '', default: false, description: 'Serve Bluetooth clients.' },
      address: { type: 'string', env: '', default: '', description: 'Address of the hotspot.' },
      port: { type: 'number', env: '', min: 1, max: 65_535, default: 80, description: 'Port of the portal.' },
    },
    isHidden: true,
    load: async () => (await import('./endpoints.ts')).endpoints,
  }),
  command({
    name: 'version',
    summary: 'Print the version of this program as JSON',
    about: 'Prints {"version", "binary_name"} on one line.',
    table: {},
    load: async () => (await import('./version.ts')).printVersion,
  }),
];
