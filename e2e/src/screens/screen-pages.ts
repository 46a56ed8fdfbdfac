// The pages that screenshots are made of: every route of the web app that shows one.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { checkout } from '../up-process.ts';

const routesFile = path.join(checkout, 'apps', 'web', 'src', 'app', 'routes.tsx');

/** What stands in the address of a page that is about one thing, and the search that a page cannot do without. */
export interface ScreenIds {
  readonly machineId: string;
  readonly jobId: string;
  readonly datasetId: string;
  readonly fragmentId: string;
  readonly imageId: string;
}

interface Route {
  readonly parent: string;
  readonly path: string;
  /** It sends on to another page. */
  readonly isRedirect: boolean;
  /** Its search must name an image. */
  readonly hasImage: boolean;
}

export interface ScreenPage {
  /** As the route has it: /machines/$machineId/logs. */
  readonly path: string;
  readonly hasImage: boolean;
}

function readRoutes(source: string): ReadonlyMap<string, Route> {
  const routes = new Map<string, Route>();
  for (const [, name = '', body = ''] of source.matchAll(/^const (\w+) = createRoute\(\{\n(.*?)^\}\);/gms)) {
    const [, parent = ''] = /getParentRoute: \(\) => (\w+)/.exec(body) ?? [];
    const [, own] = /^ {2}path: '([^']+)'/m.exec(body) ?? [];
    if (own === undefined) throw new Error(`The route ${name} has no path.`);
    const isRedirect = body.includes('throw redirect(');
    routes.set(name, { parent, path: own, isRedirect, hasImage: body.includes('): { id: string }') });
  }
  return routes;
}

/** @returns all routes that show a page. */
export function screenPages(source = readFileSync(routesFile, 'utf8')): ScreenPage[] {
  const routes = readRoutes(source);
  const wholePath = ({ parent, path: own }: Route): string => {
    const above = routes.get(parent);
    return [above && wholePath(above), own.replace(/^\//, '')].filter(Boolean).join('/');
  };
  const parents = new Set([...routes.values()].map((route) => route.parent));
  return [...routes]
    .filter(([name, { isRedirect }]) => !isRedirect && !parents.has(name))
    .map(([, route]) => ({ path: `/${wholePath(route)}`, hasImage: route.hasImage }))
    .toSorted((one, other) => one.path.localeCompare(other.path));
}

/** @throws Error if the path has a parameter that the seeded installation has no value for. */
export function addressOf({ path: pagePath, hasImage }: ScreenPage, ids: ScreenIds): string {
  const known: Record<string, string> = { ...ids };
  const address = pagePath.replaceAll(/\$(\w+)/g, (_, name: string) => {
    const id = known[name];
    if (id === undefined)
      throw new Error(`No screenshot of ${pagePath}: the seed has no ${name}. Add it to ScreenIds.`);
    return id;
  });
  return hasImage ? `${address}?id=${encodeURIComponent(ids.imageId)}` : address;
}

/** @returns the name of its file: machines-one-machine-logs for /machines/$machineId/logs. */
export const screenName = ({ path: pagePath }: ScreenPage): string =>
  pagePath
    .replaceAll(/\$(\w+)Id/g, 'one-$1')
    .replaceAll(/[^a-z0-9]+/gi, '-')
    .replaceAll(/^-|-$/g, '') || 'overview';
