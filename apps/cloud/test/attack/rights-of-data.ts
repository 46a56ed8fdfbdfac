import { DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { archiveOf, scriptEntries } from '../script-archive.ts';
import { foreigners, machineOperators, machines, members, owners, users, right, type Right } from './rights.ts';
import { rightsOfSequences } from './rights-of-sequences.ts';
import type { World } from './world.ts';

const data = (method: string): string => `platform.app.data.v1.DataService/${method}`;
const dataset = (method: string): string => `platform.app.dataset.v1.DatasetService/${method}`;
const sync = (method: string): string => `platform.app.datasync.v1.DataSyncService/${method}`;
const packages = (method: string): string => `platform.app.packages.v1.PackageService/${method}`;
const app = (method: string): string => `platform.app.v1.AppService/${method}`;

/** The script of a job reads the dataset that its job trains on. */
const readers = [...members, 'script'] as const;

const ofOrg = ({ orgId }: World) => ({ filter: { organizationIds: [orgId] } });
const ofDataset = ({ orgId, datasetId }: World) => ({ filter: { organizationIds: [orgId], datasetId } });
/** An image outside any dataset. */
const ofLoose = ({ orgId }: World) => ({ filter: { organizationIds: [orgId], tagsFilter: { tags: ['loose'] } } });
const one = ({ dataId }: World) => ({ binaryDataIds: [dataId] });
const older = ({ dataId }: World) => {
  const [organizationId = '', locationId = '', fileId = ''] = dataId.split('/');
  return { binaryIds: [{ organizationId, locationId, fileId }] };
};
const box = { label: 'x', xMinNormalized: 0, yMinNormalized: 0, xMaxNormalized: 1, yMaxNormalized: 1 };
const readings = ({ machine }: World) => ({
  partId: machine.partId,
  resourceName: 'sensor',
  resourceSubtype: 'sensor',
  methodName: 'Readings',
});
/** A tag that no other image has. */
const tagged = async ({ on, orgId, freshName, freshImage }: World) => {
  const [id, tag] = [await freshImage(), freshName()];
  await (await on.client(DataService)).addTagsToBinaryDataByIDs({ binaryDataIds: [id], tags: [tag] });
  return { organizationIds: [orgId], tagsFilter: { tags: [tag] } };
};

const ofImages: readonly Right[] = [
  right(data('BinaryDataByFilter'), { shows: readers }, (world) => ({
    dataRequest: ofDataset(world),
    includeBinary: true,
  })),
  right(data('BinaryDataByFilter'), { shows: readers }, (world) => ({ dataRequest: ofOrg(world) })),
  right(data('BinaryDataByFilter'), { shows: members, ok: ['script'] }, (world) => ({
    dataRequest: ofLoose(world),
    includeBinary: true,
  })),
  right(
    data('BinaryDataByFilter'),
    { shows: readers, ok: ['foreign owner'], denied: ['foreign machine', 'installation owner'] },
    () => ({ dataRequest: { filter: {} } }),
  ),
  right(data('BinaryDataByIDs'), { shows: readers }, (world) => ({ ...one(world), includeBinary: true })),
  right(data('BinaryDataByIDs'), { shows: readers }, older),
  right(data('BinaryDataByIDs'), { shows: members, 'not found': [...foreigners, 'script'] }, ({ looseId }) => ({
    binaryDataIds: [looseId],
    includeBinary: true,
  })),
  right(data('TagsByFilter'), { shows: readers }, ofDataset),
  right(data('TagsByFilter'), { shows: members, ok: ['script'] }, ofLoose),
  right(data('BoundingBoxLabelsByFilter'), { shows: readers }, ofDataset),
  right(data('BoundingBoxLabelsByFilter'), { shows: members, ok: ['script'] }, ofLoose),
  right(data('AddTagsToBinaryDataByIDs'), { ok: members }, (world) => ({ ...one(world), tags: ['t'] })),
  right(data('AddTagsToBinaryDataByFilter'), { ok: members }, async (world) => ({
    filter: await tagged(world),
    tags: ['t'],
  })),
  right(data('RemoveTagsFromBinaryDataByIDs'), { ok: members }, (world) => ({ ...one(world), tags: ['t'] })),
  right(data('RemoveTagsFromBinaryDataByFilter'), { ok: members }, async (world) => {
    const filter = await tagged(world);
    return { filter, tags: filter.tagsFilter.tags };
  }),
  right(data('DeleteBinaryDataByIDs'), { ok: members }, async ({ freshImage }) => ({
    binaryDataIds: [await freshImage()],
  })),
  right(data('DeleteBinaryDataByFilter'), { ok: members }, async (world) => ({ filter: await tagged(world) })),
  right(data('AddBinaryDataToDatasetByIDs'), { ok: members }, async ({ looseId, freshDataset }) => ({
    binaryDataIds: [looseId],
    datasetId: await freshDataset(),
  })),
  right(data('RemoveBinaryDataFromDatasetByIDs'), { ok: members }, async ({ freshImage, otherDatasetId }) => ({
    binaryDataIds: [await freshImage([otherDatasetId])],
    datasetId: otherDatasetId,
  })),
  right(data('AddBoundingBoxToImageByID'), { ok: members }, ({ dataId }) => ({ binaryDataId: dataId, ...box })),
  ...(['UpdateBoundingBox', 'RemoveBoundingBoxFromImageByID'] as const).map((method) =>
    right(data(method), { ok: members }, async ({ on, dataId }) => {
      const { bboxId } = await (
        await on.client(DataService)
      ).addBoundingBoxToImageByID({ binaryDataId: dataId, ...box });
      return { binaryDataId: dataId, bboxId };
    }),
  ),
  right(data('CreateBinaryDataSignedURL'), { ok: members }, ({ dataId }) => ({ binaryDataId: dataId })),
  right(
    data('GetLatestTabularData'),
    { shows: members, ok: ['foreign owner'], denied: ['foreign machine', 'installation owner'] },
    readings,
  ),
  right(
    data('ExportTabularData'),
    { shows: members, ok: ['foreign owner'], denied: ['foreign machine', 'installation owner'] },
    readings,
  ),
  right(
    data('TabularDataByFilter'),
    { shows: members, ok: ['foreign owner'], denied: ['foreign machine', 'installation owner', 'script'] },
    ({ machine }) => ({ dataRequest: { filter: { partId: machine.partId } } }),
  ),
  right(data('DeleteTabularData'), { ok: members }, ({ orgId }) => ({
    organizationId: orgId,
    deleteOlderThanDays: 4_000_000,
  })),
];

const ofDatasets: readonly Right[] = [
  right(dataset('CreateDataset'), { ok: members }, ({ orgId, freshName }) => ({
    organizationId: orgId,
    name: freshName(),
  })),
  right(dataset('DeleteDataset'), { ok: members }, async ({ freshDataset }) => ({ id: await freshDataset() })),
  right(dataset('RenameDataset'), { ok: members }, async ({ freshDataset, freshName }) => ({
    id: await freshDataset(),
    name: freshName(),
  })),
  right(dataset('ListDatasetsByOrganizationID'), { shows: readers }, ({ orgId }) => ({ organizationId: orgId })),
  right(dataset('ListDatasetsByIDs'), { ok: users, shows: readers }, ({ datasetId }) => ({ ids: [datasetId] })),
  right(dataset('ListDatasetsByIDs'), { ok: [...users, 'script'], shows: members }, ({ otherDatasetId }) => ({
    ids: [otherDatasetId],
  })),
  right(dataset('ListDatasetsByIDs'), { ok: users, shows: readers }, () => ({ ids: [] })),
  right(dataset('MergeDatasets'), { ok: members }, ({ orgId, datasetId, otherDatasetId, freshName }) => ({
    organizationId: orgId,
    datasetIds: [datasetId, otherDatasetId],
    name: freshName(),
  })),
];

const image = (value: string) => Buffer.from(value).toString('base64');
const sent = (partId: string, datasetIds: readonly string[]) => ({
  metadata: { partId, type: 1, componentName: 'camera', datasetIds: [...datasetIds] },
  sensorContents: [{ binary: image('sent') }],
});
const streamed = (partId: string, datasetIds: readonly string[]) => ({
  messages: [
    { metadata: { uploadMetadata: { partId, type: 1, datasetIds: [...datasetIds] }, sensorMetadata: {} } },
    { data: image('streamed') },
  ],
});
const asFile = (partId: string, datasetIds: readonly string[]) => ({
  messages: [
    { metadata: { partId, type: 2, fileName: 'a.txt', datasetIds: [...datasetIds] } },
    { fileContents: { data: image('a file') } },
  ],
});
/**
 * Datasets belong to the organization: rights on a machine alone do not reach them. The machine's own configuration
 * does.
 */
const uploads = [
  ['DataCaptureUpload', sent],
  ['StreamingDataCaptureUpload', streamed],
  ['FileUpload', asFile],
] as const;
const writers = { ok: [...machineOperators, 'own machine'], 'not found': [...foreigners, 'machine beside'] } as const;

const ofUploads: readonly Right[] = uploads.flatMap(([method, ask]) => [
  right(sync(method), writers, ({ machine }) => ask(machine.partId, [])),
  right(sync(method), { ok: members, 'not found': [...foreigners, 'machine beside'] }, ({ machine, otherDatasetId }) =>
    ask(machine.partId, [otherDatasetId]),
  ),
  right(sync(method), { ok: members, denied: machines }, async ({ freshDataset }) => ask('', [await freshDataset()])),
]);

const ofPackages: readonly Right[] = [
  right(packages('GetPackage'), { shows: [...members, 'own machine'] }, ({ orgId, modelName }) => ({
    id: `${orgId}/${modelName}`,
    version: '1',
    includeUrl: true,
  })),
  right(packages('GetPackage'), { shows: members }, ({ orgId, otherModelName }) => ({
    id: `${orgId}/${otherModelName}`,
    version: '1',
  })),
  right(packages('ListPackages'), { ok: [...machines, 'script'], shows: [...members, 'own machine'] }, ({ orgId }) => ({
    organizationId: orgId,
  })),
  right(packages('CreatePackage'), { ok: owners }, async ({ orgId, freshName }) => ({
    messages: [
      { info: { organizationId: orgId, name: freshName(), version: '1', type: 'PACKAGE_TYPE_ML_MODEL' } },
      { contents: (await archiveOf(scriptEntries())).toString('base64') },
    ],
  })),
  right(packages('DeletePackage'), { ok: owners }, async ({ orgId, freshPackage }) => ({
    id: `${orgId}/${await freshPackage('ml_model')}`,
    version: '1',
  })),
  right(app('GetRegistryItem'), { shows: [...members, 'own machine'] }, ({ orgId, modelName }) => ({
    itemId: `${orgId}:${modelName}`,
  })),
  right(app('GetRegistryItem'), { shows: members }, ({ orgId, scriptName }) => ({ itemId: `${orgId}:${scriptName}` })),
  right(app('ListRegistryItems'), { ok: [...users, 'script'], shows: [...members, 'own machine'] }, ({ orgId }) => ({
    organizationId: orgId,
  })),
  right(app('CreateRegistryItem'), { ok: owners }, ({ orgId, freshName }) => ({
    organizationId: orgId,
    name: freshName(),
    type: 'PACKAGE_TYPE_ML_MODEL',
  })),
  right(app('UpdateRegistryItem'), { ok: owners }, async ({ orgId, freshPackage }) => ({
    itemId: `${orgId}:${await freshPackage('ml_model')}`,
    type: 'PACKAGE_TYPE_ML_MODEL',
    description: 'a description',
    visibility: 'VISIBILITY_PRIVATE',
  })),
  right(app('DeleteRegistryItem'), { ok: owners }, async ({ orgId, freshPackage }) => ({
    itemId: `${orgId}:${await freshPackage('ml_model')}`,
  })),
];

/** An empty filter does not delete an organization's data. This row runs last: it deletes what the others request. */
export const rightToWipe: Right = right(
  data('DeleteBinaryDataByFilter'),
  { denied: users, invalid: [...members, 'foreign owner'] },
  () => ({
    filter: {},
  }),
);

export const rightsOfData: readonly Right[] = [
  ...ofImages,
  ...ofDatasets,
  ...rightsOfSequences,
  ...ofUploads,
  ...ofPackages,
];
