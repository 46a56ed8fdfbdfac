/** Which cameras are looked at now, and the newest image of each. All of it is in memory, and time is a parameter. */
import { TokenBuckets } from '../../access/rules/token-buckets.ts';

export const liveLimits = {
  /** Cameras of one machine that are requested at once. */
  cameras: 4,
  imageBytes: 60_000,
  /** Pixels of the longer side. */
  side: 640,
  boxes: 50,
  /** Characters of the label of a box. */
  label: 100,
  /** Images of one camera. */
  perSecond: 2,
  /** All images together. The oldest go first. */
  memoryBytes: 64 * 2 ** 20,
  /** How long one request of a page asks the machine for images. */
  askMs: 10_000,
  /** An image is dropped this long after the last look. */
  keepMs: 30_000,
  /** The request to a machine that sends nothing is repeated: it may have stopped while the server could not be reached. */
  repeatMs: 20_000,
  /** Longer than a long poll of a machine server and the pause after it. */
  silentMs: 120_000,
} as const;

/** Times in ms: `now` is monotonic, `day` counts UTC days. */
export type LiveTime = { readonly now: number; readonly day: number };

export type ViewProblem = { readonly code: string; readonly message: string; readonly remedy: string };
/** Edges are shares of the width and the height of the image. */
export type ViewBox = {
  readonly label: string;
  readonly confidence: number;
  readonly xMin: number;
  readonly yMin: number;
  readonly xMax: number;
  readonly yMax: number;
};
/** An image, or the reason why there is none. */
export type SentView = {
  readonly jpeg: Uint8Array;
  readonly takenOn: number | undefined;
  readonly problem: ViewProblem | undefined;
  /** Found in this image. */
  readonly boxes: readonly ViewBox[];
};
export type KnownView = SentView & { readonly sequence: number; readonly receivedAt: number };

type DesiredViews = { readonly state: string; readonly cameras: readonly string[] };

type Camera = {
  readonly name: string;
  lookedAt: number;
  /** When it was requested of the machine, or the machine sent something of it. */
  activeAt: number;
  /** Identifies the request for it: another one makes the machine send again. */
  turn: number;
  view?: KnownView;
};

/** About as many as the message of a box has. */
const boxBytes = ({ label }: ViewBox): number => 40 + 3 * label.length;

type Outcome = { readonly isWanted: boolean; readonly bytesLeft: number } | 'too often';

export class LiveViews {
  readonly #dayBytes: number;
  readonly #memoryBytes: number;
  readonly #parts = new Map<string, Map<string, Camera>>();
  /** Cameras with an image, the oldest first. */
  readonly #images = new Map<Camera, number>();
  readonly #sent = new Map<string, { day: number; bytes: number }>();
  readonly #rates = new TokenBuckets({ perSecond: liveLimits.perSecond, burst: liveLimits.perSecond }, 10_000, 1);
  #bytes = 0;
  #last: number;

  /** @param first - of the numbers of this run of the server: a number of a former run must not mean something now. */
  constructor({ dayBytes, first, memoryBytes }: { dayBytes: number; first: number; memoryBytes?: number }) {
    this.#dayBytes = dayBytes;
    this.#last = first;
    this.#memoryBytes = memoryBytes ?? liveLimits.memoryBytes;
  }

  /** Bytes of all images in memory. */
  get bytes(): number {
    return this.#bytes;
  }

  get dayBytes(): number {
    return this.#dayBytes;
  }

  bytesToday(partId: string, { day }: LiveTime): number {
    const sent = this.#sent.get(partId);
    return sent?.day === day ? sent.bytes : 0;
  }

  isLimitReached(partId: string, time: LiveTime): boolean {
    // An image that has no room is not sent again and again.
    return this.bytesToday(partId, time) + liveLimits.imageBytes > this.#dayBytes;
  }

  /**
   * Asks the machine for images of a camera.
   *
   * @returns asked: its long poll must end; known: this was requested before; full: other cameras have the places.
   */
  want(partId: string, name: string, time: LiveTime): 'asked' | 'known' | 'full' {
    const { now } = time;
    const cameras = this.#parts.get(partId) ?? new Map<string, Camera>();
    const others = this.#wanted(partId, now).filter((camera) => camera.name !== name);
    if (others.length >= liveLimits.cameras) return 'full';
    const before = cameras.get(name);
    const camera = before ?? { name, lookedAt: now, activeAt: -Infinity, turn: 0 };
    const isNew = !before || now - before.lookedAt >= liveLimits.askMs;
    camera.lookedAt = now;
    cameras.set(name, camera);
    this.#parts.set(partId, cameras);
    if (this.isLimitReached(partId, time)) return 'known';
    if (!isNew && now - camera.activeAt < liveLimits.repeatMs) return 'known';
    camera.turn = ++this.#last;
    camera.activeAt = now;
    return 'asked';
  }

  /** What is requested of the machine. */
  desired(partId: string, time: LiveTime): DesiredViews {
    const found = this.isLimitReached(partId, time) ? [] : this.#wanted(partId, time.now);
    const cameras = found.filter(({ turn }) => turn > 0);
    if (cameras.length === 0) return { state: '', cameras: [] };
    const turns = cameras.map(({ turn }) => turn).toSorted((a, b) => a - b);
    return { state: turns.join('.'), cameras: cameras.map(({ name }) => name) };
  }

  /** Keeps what a machine sent of a camera that is looked at. */
  take(partId: string, name: string, view: SentView, time: LiveTime): Outcome {
    const camera = this.#wanted(partId, time.now).find((one) => one.name === name);
    const before = this.bytesToday(partId, time);
    const bytes = view.jpeg.length + view.boxes.reduce((sum, box) => sum + boxBytes(box), 0);
    if (!camera || this.isLimitReached(partId, time))
      return { isWanted: false, bytesLeft: Math.max(0, this.#dayBytes - before) };
    if (this.#rates.take(`${partId} ${name}`, 1, time.now) > 0) return 'too often';
    this.#sent.set(partId, { day: time.day, bytes: before + bytes });
    this.#drop(camera);
    camera.view = { ...view, sequence: ++this.#last, receivedAt: time.now };
    camera.activeAt = time.now;
    this.#images.set(camera, bytes);
    this.#bytes += bytes;
    for (const oldest of this.#images.keys()) {
      if (this.#bytes <= this.#memoryBytes) break;
      this.#drop(oldest);
    }
    // The boxes of the last image may take more than is left.
    return { isWanted: !this.isLimitReached(partId, time), bytesLeft: Math.max(0, this.#dayBytes - before - bytes) };
  }

  newest(partId: string, name: string): KnownView | undefined {
    return this.#parts.get(partId)?.get(name)?.view;
  }

  /** Drops images without a look for a while, and the counts of other days. */
  sweep({ now, day }: LiveTime): void {
    for (const [partId, cameras] of this.#parts) {
      for (const [name, camera] of cameras) {
        if (now - camera.lookedAt < liveLimits.keepMs) continue;
        this.#drop(camera);
        cameras.delete(name);
      }
      if (cameras.size === 0) this.#parts.delete(partId);
    }
    for (const [partId, sent] of this.#sent) if (sent.day !== day) this.#sent.delete(partId);
  }

  #wanted(partId: string, now: number): Camera[] {
    const cameras = this.#parts.get(partId)?.values() ?? [];
    return [...cameras].filter(({ lookedAt }) => now - lookedAt < liveLimits.askMs);
  }

  #drop(camera: Camera): void {
    this.#bytes -= this.#images.get(camera) ?? 0;
    this.#images.delete(camera);
    delete camera.view;
  }
}
