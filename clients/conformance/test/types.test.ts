import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ownTypes } from '../src/own-types.ts';
import { publicTypes } from '../src/public-types.ts';

/** Members of clients that are newer than this SDK, or our own. */
const newer: ReadonlySet<string> = new Set([
  'platform.app.mltraining.v1.TrainingStatus TRAINING_STATUS_RUNNING = 2',
  'platform.app.mltraining.v1.SubmitCustomTrainingJobRequest string container_id = 9',
  'platform.app.mltraining.v1.TrainingJobMetadata string container_id = 23',
  'platform.app.mltraining.v1.Container string organization_id = 6',
  'platform.app.mltraining.v1.Container string id = 8',
  'platform.app.mltraining.v1.Container platform.app.mltraining.v1.Visibility visibility = 9',
  'platform.app.mltraining.v1.MLTrainingService ListContainers(ListContainersRequest) ListContainersResponse unary',
  'platform.app.mltraining.v1.MLTrainingService GetContainer(GetContainerRequest) GetContainerResponse unary',
  'platform.app.data.v1.DeleteTabularDataRequest optional platform.app.data.v1.DeleteTabularFilter filter = 3',
  'platform.app.dataset.v1.Dataset platform.app.dataset.v1.DatasetType type = 5',
  'platform.app.dataset.v1.CreateDatasetRequest optional platform.app.dataset.v1.DatasetType type = 3',
  'platform.app.dataset.v1.ListDatasetsByOrganizationIDRequest optional platform.app.dataset.v1.DatasetType type = 2',
  'platform.app.data.v1.DataService CreateSequence(CreateSequenceRequest) CreateSequenceResponse unary',
  'platform.app.data.v1.DataService GetSequence(GetSequenceRequest) GetSequenceResponse unary',
  'platform.app.data.v1.DataService UpdateSequence(UpdateSequenceRequest) UpdateSequenceResponse unary',
  'platform.app.data.v1.DataService DeleteSequence(DeleteSequenceRequest) DeleteSequenceResponse unary',
  'platform.app.data.v1.DataService ListSequences(ListSequencesRequest) ListSequencesResponse unary',
  'platform.app.data.v1.DataService SequencesByDatasetID(SequencesByDatasetIDRequest) SequencesByDatasetIDResponse unary',
  'platform.app.data.v1.DataService GetSequenceBinaryData(GetSequenceBinaryDataRequest) GetSequenceBinaryDataResponse unary',
  'platform.app.data.v1.DataService AddSequencesToDataset(AddSequencesToDatasetRequest) AddSequencesToDatasetResponse unary',
  'platform.app.data.v1.DataService RemoveSequencesFromDataset(RemoveSequencesFromDatasetRequest) RemoveSequencesFromDatasetResponse unary',
  'platform.app.dataset.v1.DatasetService StartSequenceDatasetExport(StartSequenceDatasetExportRequest) StartSequenceDatasetExportResponse unary',
  'platform.app.dataset.v1.DatasetService GetSequenceDatasetExport(GetSequenceDatasetExportRequest) GetSequenceDatasetExportResponse unary',
  'platform.app.data.v1.BinaryMetadata uint64 file_size_bytes = 11',
  'platform.app.datasync.v1.UploadMetadata google.protobuf.Timestamp file_create_time = 14',
  'platform.app.datasync.v1.UploadMetadata google.protobuf.Timestamp file_modify_time = 15',
  'platform.app.datasync.v1.DataCaptureMetadata string mime_type = 10',
  'platform.app.v1.Organization optional platform.app.v1.FragmentImportList default_fragments = 7',
  'platform.app.v1.RobotPart optional string robot_config_json = 18',
  'platform.app.v1.UpdateRobotPartRequest optional string robot_config_json = 5',
  'platform.app.v1.GetRobotPartLogsRequest optional platform.app.v1.LogOrder order = 11',
  'platform.app.v1.GetRobotPartLogsRequest optional string range = 12',
  'platform.app.v1.GetRobotPartHistoryRequest optional string page_token = 2',
  'platform.app.v1.GetRobotPartHistoryRequest optional int64 page_limit = 3',
  'platform.app.v1.GetRobotPartHistoryRequest optional google.protobuf.Timestamp start = 4',
  'platform.app.v1.GetRobotPartHistoryRequest optional google.protobuf.Timestamp end = 5',
  'platform.app.v1.GetRobotPartHistoryResponse string next_page_token = 2',
  'platform.app.v1.Fragment optional string public_namespace = 15',
  'platform.app.v1.MLModelMetadata repeated platform.app.v1.MLModelVersion detailed_versions = 4',
  'platform.app.v1.ListRegistryItemsRequest optional bool show_owned_deprecated = 12',
  'platform.app.agent.v1.DeviceAgentConfigRequest google.protobuf.Duration agent_uptime = 5',
  'platform.app.agent.v1.DeviceAgentConfigRequest google.protobuf.Duration server_uptime = 6',
  // Our own.
  'platform.app.mltraining.v1.MLTrainingService CheckTrainingData(CheckTrainingDataRequest) CheckTrainingDataResponse unary',
]);
const newerTypes: ReadonlySet<string> = new Set([
  // Types of our own fields, whose numbers begin at 1000.
  'platform.app.mltraining.v1.JobResources',
  'platform.app.mltraining.v1.JobScore',
  'platform.app.data.v1.LabelSet',
  'platform.app.mltraining.v1.CheckTrainingDataRequest',
  'platform.app.mltraining.v1.CheckTrainingDataResponse',
  'platform.app.mltraining.v1.Visibility',
  'platform.app.mltraining.v1.ListContainersRequest',
  'platform.app.mltraining.v1.ListContainersResponse',
  'platform.app.mltraining.v1.GetContainerRequest',
  'platform.app.mltraining.v1.GetContainerResponse',
  'platform.app.data.v1.DeleteTabularFilter',
  'platform.app.dataset.v1.DatasetType',
  'platform.app.data.v1.SequenceResourceFilter',
  'platform.app.data.v1.Sequence',
  'platform.app.data.v1.CreateSequenceRequest',
  'platform.app.data.v1.CreateSequenceResponse',
  'platform.app.data.v1.GetSequenceRequest',
  'platform.app.data.v1.GetSequenceResponse',
  'platform.app.data.v1.UpdateSequenceRequest',
  'platform.app.data.v1.UpdateSequenceResponse',
  'platform.app.data.v1.DeleteSequenceRequest',
  'platform.app.data.v1.DeleteSequenceResponse',
  'platform.app.data.v1.ListSequencesRequest',
  'platform.app.data.v1.ListSequencesResponse',
  'platform.app.data.v1.SequencesByDatasetIDRequest',
  'platform.app.data.v1.SequencesByDatasetIDResponse',
  'platform.app.data.v1.GetSequenceBinaryDataRequest',
  'platform.app.data.v1.GetSequenceBinaryDataResponse',
  'platform.app.data.v1.AddSequencesToDatasetRequest',
  'platform.app.data.v1.AddSequencesToDatasetResponse',
  'platform.app.data.v1.RemoveSequencesFromDatasetRequest',
  'platform.app.data.v1.RemoveSequencesFromDatasetResponse',
  'platform.app.dataset.v1.StartSequenceDatasetExportRequest',
  'platform.app.dataset.v1.StartSequenceDatasetExportResponse',
  'platform.app.dataset.v1.GetSequenceDatasetExportRequest',
  'platform.app.dataset.v1.GetSequenceDatasetExportResponse',
  'platform.app.dataset.v1.SequenceDatasetExportStatus',
  'platform.app.v1.LogOrder',
  'platform.app.v1.MLModelVersion',
]);

const theirs = publicTypes();
const own = ownTypes();

test('every type that existing clients speak has the fields, numbers, values and methods of the public SDK', () => {
  const differences: string[] = [];
  const unused = new Set(newer);
  for (const [name, shape] of own) {
    const theirShape = new Set(theirs.get(name));
    if (!theirs.has(name) && !newerTypes.has(name)) differences.push(`${name}: the SDK has no such type`);
    if (newerTypes.has(name)) continue;
    for (const line of shape) {
      if (theirShape.has(line)) continue;
      if (newer.has(`${name} ${line}`)) unused.delete(`${name} ${line}`);
      else differences.push(`${name}: ours alone: ${line}`);
    }
    // A service may omit methods: the server answers UNIMPLEMENTED.
    if (!name.endsWith('Service'))
      for (const line of theirShape) if (!shape.includes(line)) differences.push(`${name}: missing: ${line}`);
  }
  assert.deepEqual(differences, []);
  assert.deepEqual([...unused], []);
});

test('the comparison sees what it compares', () => {
  assert.ok(own.size > 250, `${own.size} types`);
  assert.deepEqual(theirs.get('platform.app.datasync.v1.SensorData'), [
    'platform.app.datasync.v1.SensorMetadata metadata = 1',
    'data: google.protobuf.Struct struct = 2',
    'data: bytes binary = 3',
  ]);
  assert.deepEqual(own.get('proto.rpc.v1.AuthService'), [
    'Authenticate(AuthenticateRequest) AuthenticateResponse unary',
  ]);
});
