/** First path segments of the web app's pages (apps/web/src/routes.tsx). All other paths are unknown. */
export const webPages: ReadonlySet<string> = new Set([
  'datasets',
  'machines',
  'models',
  'runners',
  'scripts',
  'settings',
  'training',
]);
