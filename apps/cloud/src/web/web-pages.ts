/** First parts of the paths of the web app's pages (apps/web/src/routes.tsx). Any other path is none of ours. */
export const webPages: ReadonlySet<string> = new Set([
  'datasets',
  'machines',
  'models',
  'runners',
  'scripts',
  'settings',
  'training',
]);
