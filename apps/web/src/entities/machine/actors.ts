/** Who did something, without the ID: the server writes kind, name and ID ("api_key first key (0f0f…)"). */
export function actorName(actor: string): string {
  const [, kind = '', name = ''] = /^(\S+) (.*) \(\S+\)$/s.exec(actor) ?? [];
  if (name === '') return actor;
  const what = kinds[kind] ?? '';
  return what === '' ? name : `${name} (${what})`;
}

const kinds: Readonly<Record<string, string>> = { api_key: 'key', part: 'machine', attempt: 'job' };
