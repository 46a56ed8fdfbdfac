import http from 'node:http';

const names = ['http_proxy', 'https_proxy', 'all_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'];

/**
 * Lets calls to other machines go by the proxies of the environment (HTTPS_PROXY, HTTP_PROXY, NO_PROXY). What runs on
 * this machine is never called by one. Bun does the rest by itself; Node has to be told.
 */
export function useProxiesOf(env: NodeJS.ProcessEnv): void {
  if (!names.some((name) => (env[name] ?? '') !== '')) return;
  const own = ['localhost', '127.0.0.1', '::1'];
  const given = env['no_proxy'] ?? env['NO_PROXY'] ?? '';
  const without = [given, ...own].filter((text) => text !== '').join(',');
  env['no_proxy'] = without;
  env['NO_PROXY'] = without;
  if (process.versions['bun'] === undefined) http.setGlobalProxyFromEnv(env);
}
