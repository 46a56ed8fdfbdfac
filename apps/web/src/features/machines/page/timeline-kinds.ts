/** Kinds by which a reader filters, with the name in the URL. */
export const eventTitles = {
  revision: 'Revisions',
  update: 'Updates',
  restart: 'Restarts',
  absence: 'Away',
  condition: 'Conditions',
  order: 'Orders',
  change: 'Changes',
} as const;
export type EventKindName = keyof typeof eventTitles;
