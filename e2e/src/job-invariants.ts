// The invariants of training jobs under any calls and kills: docs/invariants.md names each.
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { JobLab } from './job-lab.ts';

/** Acknowledged facts about one job, which must stay true. */
export interface JobFacts {
  readonly id: string;
  readonly version: string;
  cancelAcked: boolean;
  /** Number of accepted deletion requests; the answer may have been lost. */
  deletions: number;
  deleteAcked: boolean;
  /** Attempt whose completion was acknowledged. */
  completedBy: number | undefined;
  /** Lines whose report was acknowledged. */
  readonly lines: Set<string>;
  /** Last state seen by a client. */
  seen: { status: string; attempt: number } | undefined;
}

export interface Facts {
  readonly modelName: string;
  readonly jobs: Map<string, JobFacts>;
  /** Every version that was ever claimed, with its job. */
  readonly claims: Map<string, string>;
}

export const newFacts = (modelName: string): Facts => ({ modelName, jobs: new Map(), claims: new Map() });

interface JobState {
  id: string;
  version: string;
  state: string;
  attempt: number;
  model_id: string | null;
  lease_until: string | null;
}
interface EventState {
  job_id: string;
  event: string;
  from_state: string | null;
  to_state: string;
  attempt: number;
}
interface VersionState {
  version: string;
  job_id: string;
  package_sha256: string;
  files: { path: string; sha256: string; size_bytes: number }[];
  evaluation: { attempt?: number; late?: boolean } | null;
}
interface Snapshot {
  jobs: JobState[];
  events: EventState[];
  versions: VersionState[];
  claims: { version: string; job_id: string }[];
}

/** One statement reads one consistent snapshot. */
const snapshotSql = `select json_build_object(
  'jobs', (select coalesce(json_agg(json_build_object('id', id, 'version', model_version, 'state', state, 'attempt', attempt,
             'model_id', model_id, 'lease_until', lease_until)), '[]') from training_job where model_name = $1),
  'events', (select coalesce(json_agg(json_build_object('job_id', e.job_id, 'event', e.event, 'from_state', e.from_state,
               'to_state', e.to_state, 'attempt', e.attempt) order by e.id), '[]')
             from training_event e join model_version_claim c on c.claimed_by = e.job_id where c.model_name = $1),
  'versions', (select coalesce(json_agg(json_build_object('version', version, 'job_id', job_id, 'package_sha256', package_sha256,
                 'files', files, 'evaluation', evaluation)), '[]') from registry_version where name = $1),
  'claims', (select coalesce(json_agg(json_build_object('version', model_version, 'job_id', claimed_by)), '[]')
             from model_version_claim where model_name = $1)) as it`;

const finals = ['completed', 'failed', 'canceled'];

/** Returns every violation, each with the name of its invariant. No call may be in progress. */
export async function broken(lab: JobLab, facts: Facts): Promise<string[]> {
  const [row] = await lab.sql<{ it: Snapshot }>(snapshotSql, [facts.modelName]);
  const now = row!.it;
  const jobs = new Map(now.jobs.map((job) => [job.id, job]));
  return [
    ...ofJobs(facts, jobs, now.versions),
    ...ofEvents(now.events, jobs),
    ...ofVersions(lab, facts, now, jobs),
    ...ofClaims(facts, now),
  ];
}

function* ofJobs(facts: Facts, jobs: ReadonlyMap<string, JobState>, versions: VersionState[]): Generator<string> {
  for (const fact of facts.jobs.values()) {
    const job = jobs.get(fact.id);
    const name = `job ${fact.version}`;
    if (!job) {
      if (fact.deletions === 0) yield `I-1 ${name} was acknowledged and is gone`;
      continue;
    }
    if (job.version !== fact.version) yield `I-1 ${name} has version ${job.version}`;
    if (fact.deleteAcked) yield `I-10 ${name} was deleted and is there again`;
    if (fact.cancelAcked && !['canceling', 'canceled'].includes(job.state)) {
      yield `I-5 ${name} was canceled and is ${job.state}`;
    }
    if (fact.completedBy !== undefined && job.state !== 'completed') {
      yield `I-3 ${name} was acknowledged as completed and is ${job.state}`;
    }
    if (fact.seen && fact.seen.attempt > job.attempt) yield `I-8 ${name} fell back to attempt ${job.attempt}`;
    if (fact.seen && finals.includes(fact.seen.status) && fact.seen.status !== job.state) {
      yield `I-4 ${name} was ${fact.seen.status} and is ${job.state}`;
    }
  }
  for (const job of jobs.values()) {
    const published = versions.filter((version) => version.job_id === job.id).length;
    if (published !== (job.state === 'completed' ? 1 : 0)) {
      yield `I-3 job ${job.version} is ${job.state} and has ${published} versions`;
    }
    if ((job.model_id !== null) !== (job.state === 'completed')) yield `I-3 job ${job.version} names a model too early`;
  }
}

function* ofEvents(events: readonly EventState[], jobs: ReadonlyMap<string, JobState>): Generator<string> {
  for (const [id, all] of Map.groupBy(events, (event) => event.job_id)) {
    let before: EventState | undefined;
    for (const event of all) {
      const name = `job ${id} at ${event.event}`;
      if ((before?.to_state ?? null) !== event.from_state) yield `I-12 ${name}: from ${event.from_state}`;
      if (before && finals.includes(before.to_state) && event.event !== 'deleted') yield `I-4 ${name}: after its end`;
      if (before?.to_state === 'canceling' && event.to_state !== 'canceled') yield `I-5 ${name}: ${event.to_state}`;
      const grown = event.attempt - (before?.attempt ?? 0);
      if (grown !== (event.event === 'leased' ? 1 : 0)) yield `I-8 ${name}: attempt ${event.attempt}`;
      before = event;
    }
    if (all.filter((event) => event.event === 'completed' && event.to_state === 'completed').length > 1) {
      yield `I-6 job ${id} completed twice`;
    }
    const job = jobs.get(id);
    if (job && (before?.to_state !== job.state || before.attempt !== job.attempt)) {
      yield `I-12 job ${id} is ${job.state}, its events say ${before?.to_state}`;
    }
  }
}

function* ofVersions(
  lab: JobLab,
  facts: Facts,
  { versions, events }: Snapshot,
  jobs: ReadonlyMap<string, JobState>,
): Generator<string> {
  for (const version of versions) {
    const name = `version ${version.version}`;
    const end = events.find((event) => event.job_id === version.job_id && event.to_state === 'completed');
    if (!end) yield `I-3 ${name} is of a job that never completed`;
    if (version.evaluation?.late === true) yield `I-6 ${name} is the result of an attempt that was over`;
    if (end && version.evaluation?.attempt !== end.attempt) yield `I-6 ${name} is not of the attempt that completed`;
    if (!jobs.has(version.job_id) && facts.jobs.get(version.job_id)?.deletions === 0) {
      yield `I-1 ${name} has lost its job`;
    }
    for (const sha256 of [version.package_sha256, ...version.files.map((file) => file.sha256)]) {
      if (!isWhole(lab, sha256)) yield `I-2 ${name} lacks bytes of ${sha256}`;
    }
  }
  for (const fact of facts.jobs.values()) {
    const isThere = versions.some((version) => version.job_id === fact.id);
    if (fact.completedBy !== undefined && !isThere) yield `I-10 version ${fact.version} went with its job`;
  }
}

function* ofClaims(facts: Facts, { claims }: Snapshot): Generator<string> {
  const found = new Map(claims.map(({ version, job_id }) => [version, job_id]));
  for (const [version, jobId] of facts.claims) {
    if (found.get(version) !== jobId) yield `I-9 version ${version} is free again or belongs to another job`;
  }
  for (const [version, jobId] of found) facts.claims.set(version, jobId);
  for (const fact of facts.jobs.values()) {
    if (found.get(fact.version) !== fact.id) yield `I-9 version ${fact.version} is not claimed by its job`;
  }
}

function isWhole(lab: JobLab, sha256: string): boolean {
  const [file] = globSync(path.join(lab.folder.file('cloud', 'blobs'), '**', sha256));
  return file !== undefined && createHash('sha256').update(readFileSync(file)).digest('hex') === sha256;
}

/** I-11: each line once, in the order of its attempt, every acknowledged line, and none of an ended attempt. */
export function brokenLog(fact: JobFacts, lines: readonly string[]): string[] {
  const found: string[] = [];
  if (new Set(lines).size !== lines.length) found.push(`I-11 job ${fact.version} has a line twice`);
  if (lines.some((line) => line.startsWith('late'))) found.push(`I-6 job ${fact.version} took a late line`);
  const missing = [...fact.lines].filter((line) => !lines.includes(line));
  if (missing.length > 0) found.push(`I-11 job ${fact.version} lost ${missing.join(', ')}`);
  const places = lines.map((line) => line.split(' ').map(Number));
  const isOrdered = places.every(([attempt = 0, sequence = 0], index) => {
    const [a = 0, s = 0] = places[index - 1] ?? [];
    return index === 0 || attempt > a || (attempt === a && sequence > s);
  });
  if (!isOrdered) found.push(`I-11 job ${fact.version} has its lines in another order`);
  return found;
}
