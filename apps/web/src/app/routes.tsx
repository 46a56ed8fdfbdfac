import { parseSort } from '@platform/contract/machine/sort';
import { browserClock } from '@platform/kit/web';
import { createRootRoute, createRoute, lazyRouteComponent, redirect } from '@tanstack/react-router';
import { readStorySearch } from '../features/machines/page/story-search.ts';
import { readConditionSearch } from '../features/conditions/condition-search.ts';
import { Frame } from './frame.tsx';
import { isAddWay } from '../features/machines/set-up/add-ways.ts';
import type { AddWay } from '../features/machines/set-up/add-ways.ts';
import { labelModes } from '../features/datasets/labelling/label-modes.ts';
import type { LabelMode } from '../features/datasets/labelling/label-modes.ts';
import { NotFoundPage } from './not-found-page.tsx';
import { readSeveralSearch } from '../features/logs/several-search.ts';
import { readLogSearch } from '../features/logs/log-search.ts';
import { SessionGate } from './session-gate.tsx';

/** A page whose modules are read in one task and drawn in another one. See docs/decisions/0168-start-in-tasks.md. */
const page: typeof lazyRouteComponent = (load, name) =>
  lazyRouteComponent(async () => {
    const module = await load();
    await browserClock.sleep(1);
    return module;
  }, name);

const root = createRootRoute({
  component: () => (
    <SessionGate>
      <Frame />
    </SessionGate>
  ),
  notFoundComponent: NotFoundPage,
});

const index = createRoute({
  getParentRoute: () => root,
  path: '/',
  component: page(() => import('../features/conditions/overview-page.tsx'), 'OverviewPage'),
});
const conditions = createRoute({
  getParentRoute: () => root,
  path: '/conditions',
  validateSearch: readConditionSearch,
  component: page(() => import('../features/conditions/conditions-page.tsx'), 'ConditionsPage'),
});
const machines = createRoute({
  getParentRoute: () => root,
  path: '/machines',
  // A query of digits only is a number in the URL.
  validateSearch: ({ q, sort, columns }: Record<string, unknown>): { q?: string; sort?: string; columns?: string } => ({
    ...((typeof q === 'string' || typeof q === 'number') && q !== '' && { q: String(q) }),
    ...(typeof sort === 'string' && parseSort(sort) && { sort }),
    ...(typeof columns === 'string' && columns !== '' && { columns }),
  }),
  // Query, facets and rows come beside the page, not after it.
  loader: () => void import('../features/machines/list/machine-browser.tsx'),
  component: page(() => import('../features/machines/list/machines-page.tsx'), 'MachinesPage'),
});

const setUp = createRoute({
  getParentRoute: () => root,
  path: '/machines/set-up',
  // A device may name the fragment that its machine starts with.
  validateSearch: ({
    machine: id,
    fragment: named,
  }: Record<string, unknown>): { machine?: string; fragment?: string } => ({
    ...(typeof id === 'string' && id !== '' && { machine: id }),
    ...(typeof named === 'string' && named !== '' && { fragment: named }),
  }),
  component: page(() => import('../features/machines/set-up/set-up-page.tsx'), 'SetUpPage'),
});
const add = createRoute({
  getParentRoute: () => root,
  path: '/machines/add',
  validateSearch: ({ machine: id, way }: Record<string, unknown>): { machine?: string; way?: AddWay } => ({
    ...(typeof id === 'string' && id !== '' && { machine: id }),
    ...(isAddWay(way) && { way }),
  }),
  component: page(() => import('../features/machines/set-up/add-machine.tsx'), 'AddMachinePage'),
});
const machine = createRoute({
  getParentRoute: () => root,
  path: '/machines/$machineId',
  component: page(() => import('../features/machines/page/machine-page.tsx'), 'MachinePage'),
});
const machineIndex = createRoute({
  getParentRoute: () => machine,
  path: '/',
  beforeLoad: ({ params }) => {
    throw redirect({ to: '/machines/$machineId/overview', params, replace: true });
  },
});
const overview = createRoute({
  getParentRoute: () => machine,
  path: 'overview',
  validateSearch: readStorySearch,
  component: page(() => import('../features/machines/page/overview-tab.tsx'), 'OverviewTab'),
});
const configure = createRoute({
  getParentRoute: () => machine,
  path: 'configure',
  // The field that the page shows first, for example components[0].attributes.
  validateSearch: ({ path }: Record<string, unknown>): { path?: string } =>
    typeof path === 'string' && path !== '' ? { path } : {},
  component: page(() => import('../features/configure/configure-tab.tsx'), 'ConfigureTab'),
});
const logs = createRoute({
  getParentRoute: () => machine,
  path: 'logs',
  validateSearch: readLogSearch,
  component: page(() => import('../features/logs/logs-tab.tsx'), 'LogsTab'),
});
const severalLogs = createRoute({
  getParentRoute: () => root,
  path: '/machines/logs',
  validateSearch: readSeveralSearch,
  component: page(() => import('../features/logs/several-logs-page.tsx'), 'SeveralLogsPage'),
});
const network = createRoute({
  getParentRoute: () => machine,
  path: 'network',
  component: page(() => import('../features/machines/page/network-tab.tsx'), 'NetworkTab'),
});

const connect = createRoute({
  getParentRoute: () => machine,
  path: 'connect',
  component: page(() => import('../features/machines/page/connect-tab.tsx'), 'ConnectTab'),
});
const revisions = createRoute({
  getParentRoute: () => machine,
  path: 'revisions',
  component: page(() => import('../features/configure/revisions-tab.tsx'), 'RevisionsTab'),
});

const training = createRoute({
  getParentRoute: () => root,
  path: '/training',
  validateSearch: (search: Record<string, unknown>): { status?: string } =>
    typeof search['status'] === 'string' ? { status: search['status'] } : {},
  component: page(() => import('../features/training/training-page.tsx'), 'TrainingPage'),
});
const submit = createRoute({
  getParentRoute: () => root,
  path: '/training/new',
  validateSearch: (search: Record<string, unknown>): { dataset?: string; script?: string } => ({
    ...(typeof search['dataset'] === 'string' && { dataset: search['dataset'] }),
    ...(typeof search['script'] === 'string' && { script: search['script'] }),
  }),
  component: page(() => import('../features/training/submit-page.tsx'), 'SubmitPage'),
});
const job = createRoute({
  getParentRoute: () => root,
  path: '/training/$jobId',
  component: page(() => import('../features/training/job-page.tsx'), 'JobPage'),
});

const runners = createRoute({
  getParentRoute: () => root,
  path: '/runners',
  component: page(() => import('../features/training/runners-page.tsx'), 'RunnersPage'),
});
const datasets = createRoute({
  getParentRoute: () => root,
  path: '/datasets',
  component: page(() => import('../features/datasets/datasets-page.tsx'), 'DatasetsPage'),
});
const dataset = createRoute({
  getParentRoute: () => root,
  path: '/datasets/$datasetId',
  // The palette opens the dialog that adds images.
  validateSearch: ({ add: isAdding }: Record<string, unknown>): { add?: true } =>
    isAdding === true ? { add: true } : {},
  component: page(() => import('../features/datasets/dataset-page.tsx'), 'DatasetPage'),
});
const registry = createRoute({
  getParentRoute: () => root,
  path: '/models',
  component: page(() => import('../features/training/registry/models-page.tsx'), 'ModelsPage'),
});
const scripts = createRoute({
  getParentRoute: () => root,
  path: '/scripts',
  component: page(() => import('../features/training/registry/scripts-page.tsx'), 'ScriptsPage'),
});
const image = createRoute({
  getParentRoute: () => root,
  path: '/datasets/$datasetId/image',
  validateSearch: (search: Record<string, unknown>): { id: string } => ({
    id: typeof search['id'] === 'string' ? search['id'] : '',
  }),
  component: page(() => import('../features/datasets/image-page.tsx'), 'ImagePage'),
});
const label = createRoute({
  getParentRoute: () => root,
  path: '/datasets/$datasetId/label',
  validateSearch: ({ id, mode }: Record<string, unknown>): { id?: string; mode?: LabelMode } => ({
    ...(typeof id === 'string' && id !== '' && { id }),
    ...(labelModes.some((one) => one === mode) && { mode: mode as LabelMode }),
  }),
  component: page(() => import('../features/datasets/labelling/label-page.tsx'), 'LabelPage'),
});
const review = createRoute({
  getParentRoute: () => root,
  path: '/datasets/$datasetId/review',
  component: page(() => import('../features/training/registry/review-page.tsx'), 'ReviewPage'),
});
const fragments = createRoute({
  getParentRoute: () => root,
  path: '/fragments',
  component: page(() => import('../features/configure/fragments/fragments-page.tsx'), 'FragmentsPage'),
});
const fragment = createRoute({
  getParentRoute: () => root,
  path: '/fragments/$fragmentId',
  component: page(() => import('../features/configure/fragments/fragment-page.tsx'), 'FragmentPage'),
});
const settings = createRoute({
  getParentRoute: () => root,
  path: '/settings',
  component: page(() => import('../features/settings/settings-page.tsx'), 'SettingsPage'),
});
const settingsIndex = createRoute({
  getParentRoute: () => settings,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/settings/organization', replace: true });
  },
});
const organizationSettings = createRoute({
  getParentRoute: () => settings,
  path: 'organization',
  component: page(() => import('../features/settings/organization-settings.tsx'), 'OrganizationSettings'),
});
const keySettings = createRoute({
  getParentRoute: () => settings,
  path: 'keys',
  component: page(() => import('../features/settings/settings-page.tsx'), 'KeySettings'),
});
const serverSettings = createRoute({
  getParentRoute: () => settings,
  path: 'server',
  component: page(() => import('../features/settings/settings-page.tsx'), 'ServerSettings'),
});
const releaseSettings = createRoute({
  getParentRoute: () => settings,
  path: 'releases',
  component: page(() => import('../features/settings/release-settings.tsx'), 'ReleaseSettings'),
});

export const routeTree = root.addChildren([
  index,
  conditions,
  machines,
  setUp,
  add,
  severalLogs,
  machine.addChildren([machineIndex, overview, configure, logs, network, revisions, connect]),
  training,
  submit,
  job,
  runners,
  datasets,
  dataset,
  image,
  label,
  review,
  registry,
  scripts,
  fragments,
  fragment,
  settings.addChildren([settingsIndex, organizationSettings, keySettings, serverSettings, releaseSettings]),
]);
