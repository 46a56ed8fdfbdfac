import { Cell, type Clock } from '@platform/kit';
import { boundedLines } from '../network/endpoints/bounded-lines.ts';
import type {
  FromEndpoints,
  ProvisioningView,
  Submission,
  SubmissionAnswer,
  ToEndpoints,
} from '../network/endpoints/provisioning-view.ts';
import { rateLimit } from '../network/endpoints/rate-limit.ts';

/** What the endpoints use of the agent. */
export interface AgentPipe {
  /** Undefined: the agent has not sent it yet. */
  readonly view: Cell<ProvisioningView | undefined>;
  /** A user did something: a POST request or an RPC call. */
  active(): void;
  /** A user ended provisioning without entering anything. */
  exit(): void;
  /** Never rejects. */
  submit(submission: Submission): Promise<SubmissionAnswer>;
}

const viewBytes = 1024 * 1024;
const aliveMs = 10_000;
const activeMs = 2_000;
const answerMs = 90_000;
const mostWaiting = 4;
/** Below what the agent tolerates: a client that floods this process must not make the agent end it. */
const submissionRate = { burst: 20, perSecond: 1 };
const refusal = (code: string, text: string): SubmissionAnswer => ({ ok: false, code, text });

/** The child's side of the pipes to the agent. `run` resolves when the agent has closed them. */
export function agentPipe(of: {
  input: AsyncIterable<Buffer>;
  say: (line: string) => void;
  /** Gets messages that are not for the link. */
  received?: (message: ToEndpoints) => void;
  clock: Clock;
}): AgentPipe & {
  ready(): void;
  tell(message: FromEndpoints): void;
  run(): Promise<void>;
} {
  const { input, say, received, clock } = of;
  const tell = (message: FromEndpoints): void => say(JSON.stringify(message));
  const view = new Cell<ProvisioningView | undefined>(undefined);
  const waiting = new Map<number, (answer: SubmissionAnswer) => void>();
  let lastActive = -Infinity;
  let nextId = 1;
  const allows = rateLimit(clock, submissionRate);
  const alive = async (signal: AbortSignal): Promise<void> => {
    for (; !signal.aborted; await clock.sleep(aliveMs, signal)) tell({ is: 'alive' });
  };
  return {
    view,
    tell,
    ready: () => tell({ is: 'ready' }),
    active() {
      if (clock.now() - lastActive < activeMs) return;
      lastActive = clock.now();
      tell({ is: 'active' });
    },
    exit: () => tell({ is: 'exit' }),
    async submit(submission) {
      if (waiting.size >= mostWaiting || !allows())
        return refusal('BUSY', 'The device is busy. Try again in a minute.');
      const id = nextId++;
      const late = new AbortController();
      const answered = new Promise<SubmissionAnswer>((resolve) => waiting.set(id, resolve));
      tell({ is: 'submit', id, submission });
      const timeout = clock
        .sleep(answerMs, late.signal)
        .then(() => refusal('NO_ANSWER', 'The device did not answer in time. Try again.'));
      const answer = await Promise.race([answered, timeout]);
      late.abort();
      waiting.delete(id);
      return answer;
    },
    async run() {
      const over = new AbortController();
      void alive(over.signal);
      for await (const line of boundedLines(input, viewBytes)) {
        const message = JSON.parse(line) as ToEndpoints;
        if (message.is === 'view') view.set(message.view);
        else if (message.is === 'answer') waiting.get(message.id)?.(message.answer);
        else received?.(message);
      }
      over.abort();
    },
  };
}
