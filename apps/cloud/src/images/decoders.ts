/** Decodes images in processes of their own, so that no image can harm the server. */
import { type ChildProcess, fork } from 'node:child_process';
import { PlatformError } from '@platform/contract/errors/errors';
import type { Clock } from '@platform/kit';
import { plainEnvironment } from '@platform/kit/node';
import type { DecodeAnswer, DecodeRequest } from './decode-messages.ts';
import type { DecodedImage } from './rules/image-content.ts';

/** What a decoder says of a file: `failed` is the file's fault. */
export type Decoded<T> =
  | { readonly is: 'done'; readonly value: T }
  | { readonly is: 'failed'; readonly message: string };

export type Decoders = {
  /** Reads a JPEG, PNG or WebP file to its end. */
  measure(path: string): Promise<Decoded<DecodedImage>>;
  /** An upright WebP copy within `edge` × `edge` pixels, of at most `mostBytes` where quality allows it. */
  thumbnail(path: string, of: { edge: number; mostBytes: number }): Promise<Decoded<Uint8Array>>;
  close(): void;
};

type Wanted = { path: string } & ({ is: 'measure' } | { is: 'thumbnail'; edge: number; mostBytes: number });
type Task = {
  wanted: Wanted;
  tries: number;
  resolve: (answer: DecodeAnswer) => void;
  reject: (error: Error) => void;
};

/** Images that wait for a process. More are refused, so that waiting requests do not fill the memory. */
const mostWaiting = 2_000;
/** 100 megapixels of progressive JPEG take about 10 s on a small board. */
const longestMs = 60_000;
/** A process without work is ended, because it holds 60 MB. */
const idleMs = 60_000;
/** An image that ends its process is tried again once: the host may have lacked memory. */
const mostTries = 2;

const program = new URL('decoder-program.ts', import.meta.url);

/** @param processes - images that are decoded at the same time. */
export function openDecoders({ clock, processes }: { clock: Clock; processes: number }): Decoders {
  const waiting: Task[] = [];
  const lanes = Array.from({ length: processes }, () => new Lane(clock, waiting));
  const run = (wanted: Wanted): Promise<DecodeAnswer> => {
    if (waiting.length >= mostWaiting)
      throw new PlatformError('TOO_MANY_REQUESTS', { limit: `${mostWaiting} images wait for their decoding` });
    return new Promise((resolve, reject) => {
      waiting.push({ wanted, tries: 0, resolve, reject });
      lanes.find((lane) => lane.isFree)?.next();
    });
  };
  return {
    async measure(path) {
      const answer = await run({ is: 'measure', path });
      return answer.is === 'measured' ? { is: 'done', value: answer.image } : failed(answer);
    },
    async thumbnail(path, of) {
      const answer = await run({ is: 'thumbnail', path, ...of });
      return answer.is === 'thumbnail' ? { is: 'done', value: answer.bytes } : failed(answer);
    },
    close: () => {
      for (const lane of lanes) lane.close();
    },
  };
}

const failed = (answer: DecodeAnswer): { is: 'failed'; message: string } => ({
  is: 'failed',
  message: answer.is === 'failed' ? answer.message : 'the decoder gave another answer',
});

/** One process, started for the first image and ended without work. */
class Lane {
  readonly #clock: Clock;
  readonly #waiting: Task[];
  #child: ChildProcess | undefined;
  #task: Task | undefined;
  #count = 0;
  #isClosed = false;
  #timer = new AbortController();
  constructor(clock: Clock, waiting: Task[]) {
    this.#clock = clock;
    this.#waiting = waiting;
  }
  get isFree(): boolean {
    return this.#task === undefined && !this.#isClosed;
  }
  next(): void {
    if (!this.isFree) return;
    const task = this.#waiting.shift();
    if (!task) return this.#after(idleMs, () => this.#child?.kill('SIGKILL'));
    this.#task = task;
    const child = (this.#child ??= this.#start());
    task.tries++;
    this.#after(longestMs, () => {
      task.tries = mostTries;
      child.kill('SIGKILL');
    });
    const request: DecodeRequest = { ...task.wanted, id: ++this.#count };
    // A process that ends meanwhile is noticed by its exit.
    child.send(request, () => {});
  }
  close(): void {
    this.#isClosed = true;
    this.#timer.abort();
    this.#child?.kill('SIGKILL');
    const unfinished = [...(this.#task ? [this.#task] : []), ...this.#waiting.splice(0)];
    this.#task = undefined;
    for (const task of unfinished) task.reject(new Error('the server stops'));
  }
  #start(): ChildProcess {
    const child = fork(program, {
      serialization: 'advanced',
      env: plainEnvironment({ MALLOC_ARENA_MAX: '2' }),
      execArgv: ['--disable-warning=ExperimentalWarning', '--max-old-space-size=256'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    child.unref();
    child.channel?.unref();
    child.on('message', (answer: DecodeAnswer) => {
      if (answer.id !== this.#count) return;
      this.#done(answer);
      this.next();
    });
    const ended = (): void => {
      if (this.#child !== child) return;
      this.#child = undefined;
      this.#timer.abort();
      const task = this.#task;
      if (!task) return;
      if (task.tries >= mostTries) this.#done({ id: this.#count, is: 'failed', message: 'its decoder ended' });
      else {
        this.#task = undefined;
        this.#waiting.unshift(task);
      }
      if (this.#waiting.length > 0) this.next();
    };
    child.once('error', ended);
    child.once('exit', ended);
    return child;
  }
  #done(answer: DecodeAnswer): void {
    const task = this.#task;
    this.#task = undefined;
    task?.resolve(answer);
  }
  #after(ms: number, act: () => void): void {
    this.#timer.abort();
    const timer = (this.#timer = new AbortController());
    const later = async (): Promise<void> => {
      await this.#clock.sleep(ms, timer.signal);
      if (!timer.signal.aborted) act();
    };
    void later();
  }
}
