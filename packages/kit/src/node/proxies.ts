import http from 'node:http';

type Environment = Readonly<Record<string, string | undefined>>;

/** A configured proxy that cannot be used. */
export interface UnusableProxy {
  /** The variable, in the case that the environment uses. */
  name: string;
  /** Without credentials. */
  value: string;
  problem: string;
}

const settingOf = (env: Environment, name: string): { name: string; value: string } | undefined => {
  for (const each of [name, name.toUpperCase()]) {
    const value = env[each]?.trim() ?? '';
    if (value !== '') return { name: each, value };
  }
  return undefined;
};

/** Reads the variables as curl does: `all_proxy` is the fallback, and a value without a scheme means http. */
function read(env: Environment): { proxies: Map<string, string>; unusable: UnusableProxy[] } {
  const proxies = new Map<string, string>();
  const unusable = new Map<string, UnusableProxy>();
  for (const protocol of ['http_proxy', 'https_proxy']) {
    const found = settingOf(env, protocol) ?? settingOf(env, 'all_proxy');
    if (!found) continue;
    const { name, value } = found;
    const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? value : `http://${value}`;
    const scheme = url.slice(0, url.indexOf(':')).toLowerCase();
    const problem = scheme.startsWith('socks')
      ? 'SOCKS proxies are not supported'
      : scheme !== 'http' && scheme !== 'https'
        ? `${scheme} proxies are not supported`
        : URL.canParse(url)
          ? undefined
          : 'it is not a valid URL';
    if (problem === undefined) proxies.set(protocol, url);
    else unusable.set(name, { name, value: value.replace(/^((?:[^/]*:\/\/)?).*@/, '$1***@'), problem });
  }
  return { proxies, unusable: [...unusable.values()] };
}

/** Configured proxies that cannot be used. */
export const unusableProxies = (env: Environment): UnusableProxy[] => read(env).unusable;

export const unusableText = ({ name, value, problem }: UnusableProxy): string => `${name}=${value}: ${problem}.`;
export const unusableRemedy = 'Name a proxy that speaks HTTP (http://host:port), or unset the variable.';

/**
 * Routes requests to other machines through the proxies of the environment (https_proxy, http_proxy, all_proxy,
 * no_proxy; upper case, too). Requests to this machine never use one. Bun reads the environment itself; Node needs a
 * call.
 *
 * @returns those that cannot be used: requests then go direct, so the caller has to report them.
 */
export function useProxiesOf(env: Record<string, string | undefined>): UnusableProxy[] {
  const { proxies, unusable } = read(env);
  for (const name of ['http_proxy', 'https_proxy']) {
    delete env[name];
    delete env[name.toUpperCase()];
    const url = proxies.get(name);
    if (url === undefined) continue;
    env[name] = url;
    env[name.toUpperCase()] = url;
  }
  if (proxies.size === 0) return unusable;
  const own = ['localhost', '127.0.0.1', '::1'];
  const given = env['no_proxy'] ?? env['NO_PROXY'] ?? '';
  const without = [given, ...own].filter((text) => text !== '').join(',');
  env['no_proxy'] = without;
  env['NO_PROXY'] = without;
  if (process.versions['bun'] === undefined) http.setGlobalProxyFromEnv(env);
  return unusable;
}
