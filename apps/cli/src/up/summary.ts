import type { StoryReport } from './story.ts';

/** What a person reads when everything is up. */
export function summary(of: {
  url: string;
  sign_in_url: string;
  api_key_id: string;
  api_key: string;
  org_id: string;
  dataDir: string;
  story?: StoryReport;
}): string {
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
    '',
    ...links.map(([name, value]) => `  ${name.padEnd(width)}${value}`),
    '',
    '  For clients and the command line:',
    `    export PLATFORM_URL=${of.url} PLATFORM_API_KEY_ID=${of.api_key_id} PLATFORM_API_KEY=${of.api_key}`,
    `    # organization ${of.org_id}`,
    '',
    'Ctrl-C stops everything; npm start continues where it was.',
    '',
  ].join('\n');
}
