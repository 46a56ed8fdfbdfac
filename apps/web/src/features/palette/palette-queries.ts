import { create } from '@bufbuild/protobuf';
import { callUnaryMethod, useQuery as useCall, useTransport } from '@connectrpc/connect-query';
import { DatasetService } from '@platform/contract/gen/platform/app/dataset/v1/dataset_pb';
import { MLTrainingService } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { PackageService, PackageType } from '@platform/contract/gen/platform/app/packages/v1/packages_pb';
import { FleetService, OnlineState } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useDebounced } from '../../ui/time.tsx';
import { useSession } from '../../entities/session/session.tsx';
import { isolateText } from '../../ui/user-text.ts';
import { listModels } from '../../entities/registry/registry.ts';
import { jobView } from '../../entities/training-job/training-jobs.ts';
import { datasetEntry, machineEntry, type PaletteEntry, readPaletteQuery, wantsMachines } from './palette-entries.ts';

/** Machines are searched at the server, this many at a time; of the rest the newest are fetched once for a while. */
const mostMachines = 8;
const pauseMs = 150;
const kept = { staleTime: 60_000, retry: false } as const;
const stateTexts: Partial<Record<OnlineState, string>> = {
  [OnlineState.ONLINE]: 'online',
  [OnlineState.OFFLINE]: 'offline',
  [OnlineState.AWAITING_SETUP]: 'awaiting set-up',
};
const listMachines = FleetService.method.listMachines;

/** Words are searched as they are typed: what looks like a field is a text, too. */
const quoted = (words: string): string =>
  words
    .split(/\s+/)
    .filter((word) => /[^"]/.test(word))
    .slice(0, 10)
    .map((word) => `"${word.replaceAll('"', '')}"`)
    .join(' ')
    .slice(0, 200);

function useMachines(words: string, isWanted: boolean) {
  const { organizationId } = useSession().organization;
  const transport = useTransport();
  const query = quoted(useDebounced(words, pauseMs));
  return useQuery({
    queryKey: ['palette machines', organizationId, query],
    enabled: isWanted,
    ...kept,
    staleTime: 5000,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => {
      const request = create(listMachines.input, { organizationId, query, pageSize: mostMachines });
      return callUnaryMethod(transport, listMachines, request, { signal });
    },
  });
}

/** What the installation has that may be meant; the calls are bounded, whatever is typed. */
export function usePaletteEntries(text: string): { found: PaletteEntry[]; isLoading: boolean; error: Error | null } {
  const { verb, words } = readPaletteQuery(text);
  const { organizationId } = useSession().organization;
  const isAsked = words !== '' || verb !== undefined;
  const machines = useMachines(words, isAsked && wantsMachines(verb));
  const datasets = useCall(DatasetService.method.listDatasetsByOrganizationID, { organizationId, pageSize: 200 }, kept);
  const type = PackageType.ML_MODEL;
  const models = useCall(PackageService.method.listPackages, { organizationId, type, pageSize: 200 }, kept);
  const jobs = useCall(MLTrainingService.method.listTrainingJobs, { organizationId, pageSize: 50 }, kept);
  const machineEntries = (machines.data?.machines ?? []).map(({ id, partId, name, onlineState }) =>
    machineEntry({ id, partId, name: isolateText(name) }, stateTexts[onlineState] ?? '', verb),
  );
  const open = (group: string, key: string, name: string, path: string, detail?: string): PaletteEntry => ({
    key: `${group} ${key}`,
    group,
    text: name,
    ...(detail !== undefined && { detail }),
    action: { is: 'open', path },
  });
  const others = [
    ...listModels(models.data?.packages ?? []).map(({ name, versions }) =>
      open('Models', name, isolateText(name), `/models#model-${name}`, versions[0]?.version ?? ''),
    ),
    ...(jobs.data?.jobs ?? [])
      .map(jobView)
      .map(({ id, modelName, modelVersion, status }) =>
        open('Jobs', id, `${isolateText(modelName)} ${isolateText(modelVersion)}`, `/training/${id}`, status.text),
      ),
  ];
  const datasetEntries = (datasets.data?.datasets ?? []).map(({ id, name }) =>
    datasetEntry({ id, name: isolateText(name) }, verb),
  );
  return {
    found:
      verb === undefined
        ? [...machineEntries, ...datasetEntries, ...others]
        : wantsMachines(verb)
          ? machineEntries
          : datasetEntries,
    isLoading: isAsked && (machines.isFetching || datasets.isPending),
    error: machines.error ?? datasets.error ?? models.error ?? jobs.error,
  };
}
