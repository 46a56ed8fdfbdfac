import type { Generated, JSONColumnType, Selectable } from 'kysely';
import type { TrainingTables } from './training-schema.ts';

/** A point in time: ms since 1970 in memory. Written with `at(ms)` of database.ts or by the database's now(). */
type Time = number;

export type JsonObject = { [key: string]: unknown };

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
/** A fragment that went into a revision of a configuration. */
export type UsedFragment = { id: string; name: string; revision: number; isPinned: boolean };

type FoundationTables = {
  installation: { one: Generated<boolean>; id: string; firstOrgId: string; createdOn: Generated<Time> };
  organization: { id: string; name: string; publicNamespace: string; createdOn: Generated<Time> };
  location: {
    id: string;
    orgId: string;
    name: string;
    parentLocationId: string | null;
    createdOn: Generated<Time>;
  };
  person: { id: string; name: string; createdOn: Generated<Time> };
  signInLink: {
    tokenHash: Buffer;
    personId: string;
    createdOn: Generated<Time>;
    expiresOn: Time;
    usedOn: Time | null;
    byKeyId: string | null;
    signedInOn: Time | null;
  };
  browserSession: {
    tokenHash: Buffer;
    personId: string;
    createdOn: Generated<Time>;
    expiresOn: Time;
    byKeyId: string | null;
    signedInOn: Time;
  };
  apiKey: { id: string; orgId: string; name: string; keyHash: Buffer; createdOn: Generated<Time> };
  accessGrant: {
    id: string;
    orgId: string | null;
    identityType: 'person' | 'api_key';
    identityId: string;
    role: 'owner' | 'operator' | 'runner' | 'metrics';
    resourceType: 'installation' | 'organization' | 'location' | 'robot';
    resourceId: string;
    createdOn: Generated<Time>;
  };
  machine: {
    id: string;
    orgId: string;
    locationId: string;
    name: string;
    createdOn: Generated<Time>;
    tags: Generated<string[]>;
  };
  part: {
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
    /** Null: no migration from another product's agent to ours was requested, or it has completed. */
    migrationRequestedOn: Time | null;
    /** Log lines that came under the identity of another line. */
    repeatedLines: Generated<number>;
    repeatedLinesOn: Time | null;
    /** Samples that came under the identity of another sample. */
    repeatedSamples: Generated<number>;
    repeatedSamplesOn: Time | null;
    systemUpgradesDone: Generated<number>;
    uninstalledOn: Time | null;
    reportRun: Generated<Buffer | null>;
  };
  partSecret: {
    id: string;
    orgId: string;
    partId: string;
    sealed: Buffer;
    secretHash: Buffer;
    createdOn: Generated<Time>;
  };
  setUpCode: {
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
  setUpAttempt: {
    id: Generated<bigint>;
    partId: string;
    orgId: string;
    time: Generated<Time>;
    result: 'redeemed' | 'repeated' | 'other device' | 'expired' | 'replaced' | 'similar';
    address: string;
    agentVersion: string;
    /** The fragment that the device named; empty: none. */
    fragmentId: Generated<string>;
    /** Why its machine did not start with it, a sentence; empty: it did. */
    fragmentProblem: Generated<string>;
  };
  installKey: {
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
  installStep: {
    partId: string;
    orgId: string;
    kind: 'started' | 'downloaded' | 'verified' | 'installed' | 'failed' | 'refused';
    time: Generated<Time>;
    detail: string;
    address: string;
  };
  partOrder: {
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
  partRun: {
    partId: string;
    runId: Buffer;
    firstSeen: Time;
    lastSent: Time;
    returnedOn: Time | null;
    hostname: Generated<string>;
    address: Generated<string>;
    linkAddresses: Generated<string[]>;
  };
  machineSplit: {
    partId: string;
    runId: Buffer;
    newPartId: string;
    codeSeed: string;
    createdOn: Generated<Time>;
  };
  serverSchemas: {
    orgId: string;
    sha256: Buffer;
    schemasJson: string | null;
    refused: string | null;
    askedOn: Generated<Time>;
  };
  bulkOperation: {
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
  bulkMachine: {
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
  machineView: {
    orgId: string;
    name: string;
    query: string;
    sort: string;
    columns: string;
    savedBy: string;
    savedOn: Generated<Time>;
  };
  conditionRecord: ConditionRecord;
  conditionMute: {
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
  watchedTime: { id: string; beganOn: Time; endedOn: Time };
  fleetSample: { orgId: string; time: Time; machines: number; online: number };
  configRevision: {
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
    /** Those that went into `config`; null: none. */
    fragments: JSONColumnType<UsedFragment[]> | null;
  };
  fragment: {
    id: string;
    orgId: string;
    name: string;
    revision: number;
    createdOn: Generated<Time>;
    lastUpdated: Generated<Time>;
  };
  fragmentRevision: {
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
  fragmentUse: { partId: string; place: number; fragmentId: string; orgId: string; pinned: number | null };
  /** Partitioned by day. */
  partLog: {
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
  partLogSize: { partId: string; day: string; bytes: number };
  release: {
    name: string;
    version: string;
    platform: string;
    sha256: Buffer;
    sizeBytes: number;
    publishedOn: Generated<Time>;
    /** Path among the signed targets; null: no release key signed it, and machines reject it. */
    target: string | null;
    /** Machines do not get it from then on. */
    revokedOn: Time | null;
  };
  releaseChannel: { name: string; channel: string; version: string };
  releasePatch: { fromSha256: Buffer; toSha256: Buffer; sha256: Buffer; sizeBytes: number };
  releaseAttachment: {
    name: string;
    version: string;
    platform: string;
    kind: 'sbom' | 'licenses';
    sha256: Buffer;
    sizeBytes: number;
  };
  releaseDocument: {
    role: 'root' | 'targets' | 'snapshot' | 'timestamp';
    version: number;
    bytes: Buffer;
    madeOn: Generated<Time>;
  };
  installerSignature: { signature: Buffer };
  blob: {
    orgId: string;
    sha256: string;
    sizeBytes: number;
    createdOn: Generated<Time>;
    uploadedOn: Generated<Time | null>;
  };
  unnamedBlob: { sha256: string; since: Time };
  retentionTime: { one: Generated<boolean>; at: Time; latest: Time | null };
  audit: {
    id: Generated<number>;
    orgId: string | null;
    at: Generated<Time>;
    actor: string;
    action: string;
    subject: string;
    details: JSONColumnType<JsonObject> | null;
  };
  change: { id: Generated<number>; at: Generated<Time>; kind: string; key: string };
  migration: { name: string; sha256: string; appliedOn: Generated<Time> };
};

/** Tables and columns in camelCase; the driver maps them to the snake_case of the migrations. */
export type Tables = FoundationTables & TrainingTables;
/** A row as it is read. */
export type Row<T extends keyof Tables> = Selectable<Tables[T]>;
