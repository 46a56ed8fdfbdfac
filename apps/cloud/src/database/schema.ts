import type { Generated, JSONColumnType } from 'kysely';
import type { TrainingTables } from './training-schema.ts';

/** A point in time: ms since 1970 in memory. Written with `at(ms)` of database.ts or by the database's now(). */
type Time = number;

export type JsonObject = { [key: string]: unknown };

type Organization = { id: string; name: string; publicNamespace: string; createdOn: Generated<Time> };
type Location = {
  id: string;
  orgId: string;
  name: string;
  parentLocationId: string | null;
  createdOn: Generated<Time>;
};
type Person = { id: string; name: string; createdOn: Generated<Time> };
type SignInLink = {
  tokenHash: Buffer;
  personId: string;
  createdOn: Generated<Time>;
  expiresOn: Time;
  usedOn: Time | null;
  byKeyId: string | null;
  signedInOn: Time | null;
};
type BrowserSession = {
  tokenHash: Buffer;
  personId: string;
  createdOn: Generated<Time>;
  expiresOn: Time;
  byKeyId: string | null;
  signedInOn: Time;
};
type ApiKey = { id: string; orgId: string; name: string; keyHash: Buffer; createdOn: Generated<Time> };
type AccessGrant = {
  id: string;
  orgId: string | null;
  identityType: 'person' | 'api_key';
  identityId: string;
  role: 'owner' | 'operator' | 'runner' | 'metrics';
  resourceType: 'installation' | 'organization' | 'location' | 'robot';
  resourceId: string;
  createdOn: Generated<Time>;
};
type Machine = {
  id: string;
  orgId: string;
  locationId: string;
  name: string;
  createdOn: Generated<Time>;
  tags: Generated<string[]>;
};
type Part = {
  id: string;
  orgId: string;
  machineId: string;
  name: string;
  isMain: boolean;
  createdOn: Generated<Time>;
  lastUpdated: Generated<Time>;
  revision: Generated<number>;
  lastSeen: Time | null;
  host: JSONColumnType<JsonObject> | null;
  report: Buffer | null;
  /** What filters compare. */
  facts: JSONColumnType<JsonObject> | null;
  reportedOn: Time | null;
  restartRequestedOn: Time | null;
  quarantineClearance: Generated<number>;
  quarantineClearedOn: Time | null;
  systemUpgrades: Generated<number>;
  systemUpgradeRequestedOn: Time | null;
  migrationRequestedOn: Time | null;
  repeatedLines: Generated<number>;
  repeatedLinesOn: Time | null;
  repeatedSamples: Generated<number>;
  repeatedSamplesOn: Time | null;
  systemUpgradesDone: Generated<number>;
  uninstalledOn: Time | null;
  reportRun: Generated<Buffer | null>;
};
type PartSecret = {
  id: string;
  orgId: string;
  partId: string;
  sealed: Buffer;
  secretHash: Buffer;
  createdOn: Generated<Time>;
};
type SetUpCode = {
  partId: string;
  orgId: string;
  codeHash: Buffer;
  createdOn: Generated<Time>;
  expiresOn: Time;
  deviceHash: Buffer | null;
  redeemedOn: Time | null;
  replacedHash: Buffer | null;
  madeBy: JSONColumnType<JsonObject> | null;
};
type SetUpAttempt = {
  id: Generated<bigint>;
  partId: string;
  orgId: string;
  time: Generated<Time>;
  result: 'redeemed' | 'repeated' | 'other device' | 'expired' | 'replaced' | 'similar';
  address: string;
  agentVersion: string;
  fragmentId: Generated<string>;
  fragmentProblem: Generated<string>;
};
type InstallKey = {
  partId: string;
  orgId: string;
  id: string;
  keyHash: Buffer;
  createdOn: Generated<Time>;
  expiresOn: Time;
  installerHash: Buffer | null;
  usedOn: Time | null;
  reportedOn: Time | null;
  madeBy: JSONColumnType<JsonObject> | null;
};
type InstallStep = {
  partId: string;
  orgId: string;
  kind: 'started' | 'downloaded' | 'verified' | 'installed' | 'failed' | 'refused';
  time: Generated<Time>;
  detail: string;
  address: string;
};
type PartOrder = {
  partId: string;
  orgId: string;
  kind: 'restart agent' | 'reboot' | 'restart server';
  id: string;
  requestedBy: string;
  requestedOn: Generated<Time>;
  state: Generated<'waiting' | 'begun' | 'done' | 'failed'>;
  since: Generated<Time>;
  reason: Generated<string>;
};
type PartRun = {
  partId: string;
  runId: Buffer;
  firstSeen: Time;
  lastSent: Time;
  returnedOn: Time | null;
  hostname: Generated<string>;
  address: Generated<string>;
  linkAddresses: Generated<string[]>;
};
type ServerSchemasRow = {
  orgId: string;
  sha256: Buffer;
  schemasJson: string | null;
  refused: string | null;
  askedOn: Generated<Time>;
};
type BulkOperation = {
  id: string;
  orgId: string;
  number: number;
  change: JSONColumnType<JsonObject>;
  query: string;
  startedBy: string;
  starterId: string;
  startedOn: Generated<Time>;
  stoppedOn: Time | null;
  stoppedBy: Generated<string>;
};
type BulkMachine = {
  operationId: string;
  place: number;
  machineId: string;
  name: string;
  state: 'waiting' | 'done' | 'unchanged' | 'refused' | 'failed';
  code: Generated<string>;
  reason: Generated<string>;
  changedOn: Time | null;
  claimedOn: Time | null;
};
type MachineView = {
  orgId: string;
  name: string;
  query: string;
  sort: string;
  columns: string;
  savedBy: string;
  savedOn: Generated<Time>;
};
type ConditionRecord = {
  id: string;
  orgId: string | null;
  subject: 'machine' | 'job' | 'runner' | 'server';
  subjectId: string;
  subjectName: string;
  machineId: string | null;
  code: string;
  place: string;
  severity: number;
  message: string;
  remedy: string;
  beganOn: Time;
  endedOn: Time | null;
};
type ConditionMute = {
  id: string;
  orgId: string | null;
  subject: ConditionRecord['subject'];
  subjectId: string | null;
  machineId: string | null;
  code: string;
  place: string;
  reason: string;
  mutedBy: string;
  mutedOn: Time;
  until: Time;
};
type FleetSample = { orgId: string; time: Time; machines: number; online: number };
type MachineSplit = {
  partId: string;
  runId: Buffer;
  newPartId: string;
  codeSeed: string;
  createdOn: Generated<Time>;
};
type ConfigRevision = {
  partId: string;
  revision: number;
  orgId: string;
  text: string;
  /** With its fragments merged. */
  config: JSONColumnType<JsonObject>;
  sha256: Buffer;
  savedBy: string;
  savedOn: Generated<Time>;
  comment: Generated<string>;
  fragments: JSONColumnType<UsedFragment[]> | null;
};
/** A fragment that went into a revision of a configuration. */
export type UsedFragment = { id: string; name: string; revision: number; isPinned: boolean };
type Fragment = {
  id: string;
  orgId: string;
  name: string;
  revision: number;
  createdOn: Generated<Time>;
  lastUpdated: Generated<Time>;
};
type FragmentRevision = {
  fragmentId: string;
  revision: number;
  orgId: string;
  text: string;
  config: JSONColumnType<JsonObject>;
  sha256: Buffer;
  savedBy: string;
  savedOn: Generated<Time>;
  comment: Generated<string>;
};
type FragmentUse = { partId: string; place: number; fragmentId: string; orgId: string; pinned: number | null };
/** Partitioned by day. */
type PartLog = {
  id: Generated<number>;
  orgId: string;
  partId: string;
  day: string;
  bootId: string | null;
  sequence: number | null;
  time: Time;
  level: string;
  host: string;
  loggerName: string;
  message: string;
  rest: JSONColumnType<JsonObject> | null;
};
type PartLogSize = { partId: string; day: string; bytes: number };
type Release = {
  name: string;
  version: string;
  platform: string;
  sha256: Buffer;
  sizeBytes: number;
  publishedOn: Generated<Time>;
  target: string | null;
  revokedOn: Time | null;
};
type ReleasePatch = { fromSha256: Buffer; toSha256: Buffer; sha256: Buffer; sizeBytes: number };
type ReleaseAttachment = {
  name: string;
  version: string;
  platform: string;
  kind: 'sbom' | 'licenses';
  sha256: Buffer;
  sizeBytes: number;
};
type ReleaseDocument = {
  role: 'root' | 'targets' | 'snapshot' | 'timestamp';
  version: number;
  bytes: Buffer;
  madeOn: Generated<Time>;
};
type InstallerSignature = { signature: Buffer };
type ReleaseChannel = { name: string; channel: string; version: string };
type Blob = {
  orgId: string;
  sha256: string;
  sizeBytes: number;
  createdOn: Generated<Time>;
  uploadedOn: Generated<Time | null>;
};
type UnnamedBlob = { sha256: string; since: Time };
type RetentionTimeRow = { one: Generated<boolean>; at: Time; latest: Time | null };
type Audit = {
  id: Generated<number>;
  orgId: string | null;
  at: Generated<Time>;
  actor: string;
  action: string;
  subject: string;
  details: JSONColumnType<JsonObject> | null;
};
type Change = { id: Generated<number>; at: Generated<Time>; kind: string; key: string };
type Installation = { one: Generated<boolean>; id: string; firstOrgId: string; createdOn: Generated<Time> };
type Migration = { name: string; sha256: string; appliedOn: Generated<Time> };

type FoundationTables = {
  installation: Installation;
  organization: Organization;
  location: Location;
  person: Person;
  signInLink: SignInLink;
  browserSession: BrowserSession;
  apiKey: ApiKey;
  accessGrant: AccessGrant;
  machine: Machine;
  part: Part;
  partSecret: PartSecret;
  setUpCode: SetUpCode;
  setUpAttempt: SetUpAttempt;
  installKey: InstallKey;
  installStep: InstallStep;
  partOrder: PartOrder;
  partRun: PartRun;
  machineSplit: MachineSplit;
  serverSchemas: ServerSchemasRow;
  bulkOperation: BulkOperation;
  bulkMachine: BulkMachine;
  machineView: MachineView;
  conditionRecord: ConditionRecord;
  conditionMute: ConditionMute;
  fleetSample: FleetSample;
  configRevision: ConfigRevision;
  fragment: Fragment;
  fragmentRevision: FragmentRevision;
  fragmentUse: FragmentUse;
  partLog: PartLog;
  partLogSize: PartLogSize;
  release: Release;
  releaseChannel: ReleaseChannel;
  releasePatch: ReleasePatch;
  releaseAttachment: ReleaseAttachment;
  releaseDocument: ReleaseDocument;
  installerSignature: InstallerSignature;
  blob: Blob;
  unnamedBlob: UnnamedBlob;
  retentionTime: RetentionTimeRow;
  audit: Audit;
  change: Change;
  migration: Migration;
};

/** Tables and columns in camelCase; the driver maps them to the snake_case of the migrations. */
export type Tables = FoundationTables & TrainingTables;
