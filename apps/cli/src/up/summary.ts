import type { StoryReport } from './story.ts';

/** The management server and its initial credentials; null: the key was rotated or deleted. */
export interface Cloud {
  /** URL for users and other hosts. */
  readonly url: string;
  /** Loopback URL for programs of this host. */
  readonly local_url: string;
  /** Loopback URL for machines of this host. */
  readonly inside_url: string;
  readonly port: number;
  /** A command for any machine that prints the install script. */
  readonly install_script_command: string;
  readonly org_id: string;
  readonly api_key_id: string;
  readonly api_key: string | null;
  readonly runner_key_id: string;
  readonly runner_key: string | null;
  readonly sign_in_url: string;
}

const replace = 'To replace both, stop the platform and run: npm start -- --new-keys';

export const deadFirstKey = `The first API key was rotated or deleted, so it is not shown, and the demo does not go on. Use another key: the sign-in link opens the page of API keys. ${replace}`;

export const deadRunnerKey = `The runner's key was rotated or deleted, so no training job runs here. ${replace}`;

/** Text for users when the platform is up. */
export function summary(of: Cloud & { dataDir: string; story?: StoryReport; notices: readonly string[] }): string {
  const { story } = of;
  const head =
    story === undefined
      ? 'The management server is ready.'
      : story.ok
        ? 'Everything works.'
        : `Not everything worked: ${story.error ?? ''}`;
  const facts = story?.facts ?? {};
  const links: [string, string][] = [
    ['Sign in', of.sign_in_url],
    ...(facts['machine_id']
      ? ([['Machine', `${of.url}/machines/${String(facts['machine_id'])}`]] as [string, string][])
      : []),
    ...(facts['training_job_id']
      ? ([['Training', `${of.url}/training/${String(facts['training_job_id'])}`]] as [string, string][])
      : []),
    ['Data', of.dataDir],
  ];
  const width = Math.max(...links.map(([name]) => name.length)) + 2;
  return [
    '',
    head,
    ...of.notices.map((notice) => `Note: ${notice}`),
    '',
    ...links.map(([name, value]) => `  ${name.padEnd(width)}${value}`),
    '',
    ...(of.api_key === null
      ? [`  ${deadFirstKey}`]
      : [
          '  For clients and the command line:',
          `    export PLATFORM_URL=${of.url} PLATFORM_API_KEY_ID=${of.api_key_id} PLATFORM_API_KEY=${of.api_key}`,
        ]),
    `    # organization ${of.org_id}`,
    '',
    '  To install the agent on a machine that has its credentials file (the page of the machine has it):',
    `    ${of.install_script_command} | sudo sh`,
    '',
    'Ctrl-C stops everything; npm start continues where it was.',
    '',
  ].join('\n');
}
