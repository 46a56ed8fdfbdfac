import { idOf, type Release } from '../state.ts';

export interface Have {
  /** Complete versions, oldest first. */
  versions: readonly string[];
  linked: string | null;
  running: string | null;
  /** For a release without hash: the version that its URL led to, while its source is unchanged. */
  known: string | null;
  /** A restart may be made for the sake of a new version. */
  mayRestart: boolean;
}

export type Step =
  | { do: 'download'; version: string; url: string; sha256: string }
  | { do: 'link'; id: string }
  | { do: 'restart'; from: string; to: string }
  | { do: 'remove'; id: string };

const keptVersions = 3;

/** Spec, Versioning 1: a new version is downloaded at once and used at the next restart. */
export function plan(want: Release | undefined, have: Have): readonly Step[] {
  if (!want) return [];
  const id = want.sha256 === '' ? have.known : idOf(want.version, want.sha256);
  if (id === null || !have.versions.includes(id)) {
    const { version, url, sha256 } = want;
    return [{ do: 'download', version, url, sha256 }];
  }
  if (have.linked !== id) return [{ do: 'link', id }];
  const restart: Step[] =
    have.running !== null && have.running !== id && have.mayRestart
      ? [{ do: 'restart', from: have.running, to: id }]
      : [];
  const used = new Set([id, have.running]);
  const spare = have.versions.filter((v) => !used.has(v));
  const keep = Math.max(0, keptVersions - (have.versions.length - spare.length));
  const remove = spare.slice(0, Math.max(0, spare.length - keep)).map((v): Step => ({ do: 'remove', id: v }));
  return [...restart, ...remove];
}
