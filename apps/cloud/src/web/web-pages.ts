/** First path segments of the web app's pages (apps/web/src/app/routes.tsx). All other paths are unknown. */
export const webPages: ReadonlySet<string> = new Set([
  'conditions',
  'datasets',
  'fragments',
  'machines',
  'models',
  'runners',
  'scripts',
  'settings',
  'training',
]);
