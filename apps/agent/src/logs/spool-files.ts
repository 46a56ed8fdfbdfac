import type { Disk } from '../os/ports.ts';
import { decodeRecords, encodeRecord, type SpoolRecord } from './spool-record.ts';
import { levelsOf, mergeable, mergedSegment, newSegment, spoolFolder, type Segment } from './spool-segments.ts';

/** The segment files of the spool. Calls must not overlap. */
export class SpoolFiles {
  readonly #disk: Disk;
  readonly #segmentBytes: number;
  #segments: readonly Segment[];
  #active: Segment | undefined;
  /** A segment with a partly failed write. */
  #torn: Segment | undefined;
  #head: { segment: Segment; bytes: number; records: SpoolRecord[] } | undefined;

  constructor(disk: Disk, segments: readonly Segment[], segmentBytes: number) {
    this.#disk = disk;
    this.#segments = segments;
    this.#segmentBytes = segmentBytes;
  }

  /** Oldest first. */
  get segments(): readonly Segment[] {
    return this.#segments;
  }

  /** To which lines are appended; undefined: the next line begins one. */
  get active(): Segment | undefined {
    return this.#active;
  }

  get bytes(): number {
    return this.#segments.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  async read(segment: Segment): Promise<SpoolRecord[]> {
    if (this.#head?.segment === segment && this.#head.bytes === segment.bytes) return this.#head.records;
    const bytes = await this.#disk.read(`${spoolFolder}/${segment.name}`);
    // Records beyond `last` come from a failed write; those lines have new sequences.
    const records = bytes ? decodeRecords(bytes, segment.bootId).filter((r) => r.sequence <= segment.last) : [];
    segment.lines ??= levelsOf(records);
    this.#head = { segment, bytes: segment.bytes, records };
    return records;
  }

  /** Appends to the active segment, or begins one. @throws if the disk rejects it */
  async append(records: readonly SpoolRecord[], bootId: string, first: number): Promise<void> {
    const bytes = encoded(records, bootId);
    const open = this.#active && this.#active.bytes < this.#segmentBytes ? this.#active : undefined;
    const active = open ?? newSegment(bootId, first);
    if (open) {
      try {
        await this.#disk.append(`${spoolFolder}/${active.name}`, bytes);
      } catch (error) {
        this.#active = undefined; // its end may be torn; earlier lines stay readable
        this.#torn = open;
        throw error;
      }
    } else {
      await this.#disk.write(`${spoolFolder}/${active.name}`, bytes); // atomic, even if a file of this name exists
      this.#segments = [...this.#segments, active];
      this.#active = active;
      await this.#mend();
      await this.#merge();
    }
    active.last = records.at(-1)?.sequence ?? active.last;
    active.bytes += bytes.length;
    for (const { level } of records) if (active.lines) active.lines[level]++;
  }

  /** Keeps only these of its lines. @throws if the disk rejects it */
  async rewrite(segment: Segment, kept: readonly SpoolRecord[]): Promise<void> {
    const bytes = encoded(kept, segment.bootId);
    await this.#disk.write(`${spoolFolder}/${segment.name}`, bytes);
    segment.bytes = bytes.length;
    segment.lines = levelsOf(kept);
    this.#head = undefined;
  }

  async remove(gone: readonly Segment[]): Promise<void> {
    for (const { name } of gone) await this.#disk.remove(`${spoolFolder}/${name}`).catch(() => {});
    this.#segments = this.#segments.filter((s) => !gone.includes(s));
    this.#head = undefined;
  }

  /** Removes the remains of a failed write: its lines have new sequences by now and must not be read again. */
  async #mend(): Promise<void> {
    const torn = this.#torn;
    if (!torn || !this.#segments.includes(torn)) return;
    try {
      const records = await this.read(torn);
      await this.#disk.write(`${spoolFolder}/${torn.name}`, encoded(records, torn.bootId));
      this.#torn = undefined;
    } catch {
      // retried at the next segment
    }
  }

  /** Bounds the number of files: offline, an agent that is restarted over and over begins a segment each time. */
  async #merge(): Promise<void> {
    const closed = this.#segments.filter((s) => s !== this.#active && s !== this.#torn);
    for (const group of mergeable(closed, this.#segmentBytes)) {
      try {
        const records = (await Promise.all(group.map((segment) => this.read(segment)))).flat();
        const merged = mergedSegment(group, 0);
        const bytes = encoded(records, merged.bootId);
        await this.#disk.write(`${spoolFolder}/${merged.name}`, bytes);
        this.#segments = this.#segments.flatMap((s) =>
          s === group[0]
            ? [{ ...merged, bytes: bytes.length, lines: levelsOf(records) }]
            : group.includes(s)
              ? []
              : [s],
        );
        for (const { name } of group) await this.#disk.remove(`${spoolFolder}/${name}`);
      } catch {
        return; // retried at the next segment
      }
    }
  }
}

function encoded(records: readonly SpoolRecord[], segmentId: string): Uint8Array {
  const parts = records.map((record) => encodeRecord(record, segmentId));
  const whole = new Uint8Array(parts.reduce((sum, p) => sum + p.length, 0));
  let at = 0;
  for (const p of parts) {
    whole.set(p, at);
    at += p.length;
  }
  return whole;
}
