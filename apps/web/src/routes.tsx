import { parseSort } from '@platform/contract/machine-sort';
import { createRootRoute, createRoute, lazyRouteComponent, redirect } from '@tanstack/react-router';
import { Frame } from './frame.tsx';
import { loadMachineTable, MachinesPage } from './pages/machines-page.tsx';
import { labelModes } from './view/label-modes.ts';
import type { LabelMode } from './view/label-modes.ts';
import { NotFoundPage } from './pages/not-found-page.tsx';
import { readLogSearch } from './view/log-search.ts';
import { SessionGate } from './session-gate.tsx';

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
  beforeLoad: () => {
    throw redirect({ to: '/machines', replace: true });
  },
});
const machines = createRoute({
  getParentRoute: () => root,
  path: '/machines',
  // A query of digits only is a number in the URL.
  validateSearch: ({ q, sort }: Record<string, unknown>): { q?: string; sort?: string } => ({
    ...((typeof q === 'string' || typeof q === 'number') && q !== '' && { q: String(q) }),
    ...(typeof sort === 'string' && parseSort(sort) && { sort }),
  }),
  loader: () => void loadMachineTable(),
  component: MachinesPage,
});

const setUp = createRoute({
  getParentRoute: () => root,
  path: '/machines/set-up',
  validateSearch: (search: Record<string, unknown>): { machine?: string } =>
    typeof search['machine'] === 'string' && search['machine'] !== '' ? { machine: search['machine'] } : {},
  component: lazyRouteComponent(() => import('./pages/set-up-page.tsx'), 'SetUpPage'),
});
const machine = createRoute({
  getParentRoute: () => root,
  path: '/machines/$machineId',
  component: lazyRouteComponent(() => import('./pages/machine-page.tsx'), 'MachinePage'),
});
const machineIndex = createRoute({
  getParentRoute: () => machine,
  path: '/',
  beforeLoad: ({ params }) => {
    throw redirect({ to: '/machines/$machineId/configure', params, replace: true });
  },
});
const configure = createRoute({
  getParentRoute: () => machine,
  path: 'configure',
  component: lazyRouteComponent(() => import('./pages/configure-tab.tsx'), 'ConfigureTab'),
});
const logs = createRoute({
  getParentRoute: () => machine,
  path: 'logs',
  validateSearch: readLogSearch,
  component: lazyRouteComponent(() => import('./pages/logs-tab.tsx'), 'LogsTab'),
});
const network = createRoute({
  getParentRoute: () => machine,
  path: 'network',
  component: lazyRouteComponent(() => import('./pages/network-tab.tsx'), 'NetworkTab'),
});

const connect = createRoute({
  getParentRoute: () => machine,
  path: 'connect',
  component: lazyRouteComponent(() => import('./pages/connect-tab.tsx'), 'ConnectTab'),
});
const revisions = createRoute({
  getParentRoute: () => machine,
  path: 'revisions',
  component: lazyRouteComponent(() => import('./pages/revisions-tab.tsx'), 'RevisionsTab'),
});

const training = createRoute({
  getParentRoute: () => root,
  path: '/training',
  validateSearch: (search: Record<string, unknown>): { status?: string } =>
    typeof search['status'] === 'string' ? { status: search['status'] } : {},
  component: lazyRouteComponent(() => import('./pages/training-page.tsx'), 'TrainingPage'),
});
const submit = createRoute({
  getParentRoute: () => root,
  path: '/training/new',
  validateSearch: (search: Record<string, unknown>): { dataset?: string; script?: string } => ({
    ...(typeof search['dataset'] === 'string' && { dataset: search['dataset'] }),
    ...(typeof search['script'] === 'string' && { script: search['script'] }),
  }),
  component: lazyRouteComponent(() => import('./pages/submit-page.tsx'), 'SubmitPage'),
});
const job = createRoute({
  getParentRoute: () => root,
  path: '/training/$jobId',
  component: lazyRouteComponent(() => import('./pages/job-page.tsx'), 'JobPage'),
});

const runners = createRoute({
  getParentRoute: () => root,
  path: '/runners',
  component: lazyRouteComponent(() => import('./pages/runners-page.tsx'), 'RunnersPage'),
});
const datasets = createRoute({
  getParentRoute: () => root,
  path: '/datasets',
  component: lazyRouteComponent(() => import('./pages/datasets-page.tsx'), 'DatasetsPage'),
});
const dataset = createRoute({
  getParentRoute: () => root,
  path: '/datasets/$datasetId',
  component: lazyRouteComponent(() => import('./pages/dataset-page.tsx'), 'DatasetPage'),
});
const registry = createRoute({
  getParentRoute: () => root,
  path: '/models',
  component: lazyRouteComponent(() => import('./pages/models-page.tsx'), 'ModelsPage'),
});
const scripts = createRoute({
  getParentRoute: () => root,
  path: '/scripts',
  component: lazyRouteComponent(() => import('./pages/scripts-page.tsx'), 'ScriptsPage'),
});
const image = createRoute({
  getParentRoute: () => root,
  path: '/datasets/$datasetId/picture',
  validateSearch: (search: Record<string, unknown>): { id: string } => ({
    id: typeof search['id'] === 'string' ? search['id'] : '',
  }),
  component: lazyRouteComponent(() => import('./pages/image-page.tsx'), 'ImagePage'),
});
const label = createRoute({
  getParentRoute: () => root,
  path: '/datasets/$datasetId/label',
  validateSearch: ({ id, mode }: Record<string, unknown>): { id?: string; mode?: LabelMode } => ({
    ...(typeof id === 'string' && id !== '' && { id }),
    ...(labelModes.some((one) => one === mode) && { mode: mode as LabelMode }),
  }),
  component: lazyRouteComponent(() => import('./pages/label-page.tsx'), 'LabelPage'),
});
const review = createRoute({
  getParentRoute: () => root,
  path: '/datasets/$datasetId/review',
  component: lazyRouteComponent(() => import('./pages/review-page.tsx'), 'ReviewPage'),
});
const settings = createRoute({
  getParentRoute: () => root,
  path: '/settings',
  component: lazyRouteComponent(() => import('./pages/settings-page.tsx'), 'SettingsPage'),
});

export const routeTree = root.addChildren([
  index,
  machines,
  setUp,
  machine.addChildren([machineIndex, configure, logs, network, revisions, connect]),
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
  settings,
]);
