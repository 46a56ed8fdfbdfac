import type { Clock } from '@platform/kit';

/** An event of the demo, as text for users. */
export type Progress =
  | { is: 'begin'; step: string; title: string }
  | { is: 'advance'; step: string; fraction: number; note: string }
  | { is: 'end'; step: string; title: string; seconds: number; note: string }
  | { is: 'fail'; step: string; title: string; message: string }
  | { is: 'say'; text: string };

const barWidth = 24;

/** A progress bar of 24 cells: ███████░░░ 42 %. fraction 0..1. */
export function bar(fraction: number): string {
  const filled = Math.round(Math.max(0, Math.min(1, fraction)) * barWidth);
  return `${'█'.repeat(filled)}${'░'.repeat(barWidth - filled)} ${String(Math.round(fraction * 100)).padStart(3)} %`;
}

export interface Screen {
  show(event: Progress): void;
  /** Ends an incomplete bar, so that other output starts on a new line. */
  close(): void;
}

/**
 * Redraws bars on a terminal. Elsewhere it prints one line per event, and one per 10 % of progress, at most one a
 * second.
 */
export function createScreen(
  out: { write(text: string): void; isTTY?: boolean; columns?: number },
  clock: Clock,
): Screen {
  const state = { open: false, tenth: -1, at: -Infinity, title: '' };
  const line = (text: string): void => {
    if (state.open) out.write('\r\x1b[2K');
    state.open = false;
    out.write(`${text}\n`);
  };
  const redraw = (text: string): void => {
    const width = (out.columns ?? 80) - 1;
    out.write(`\r\x1b[2K${text.length > width ? `${text.slice(0, width - 1)}…` : text}`);
    state.open = true;
  };
  return {
    show(event) {
      switch (event.is) {
        case 'begin':
          state.tenth = -1;
          state.title = event.title;
          return out.isTTY ? redraw(`  · ${event.title} …`) : line(`  · ${event.title} …`);
        case 'advance': {
          if (out.isTTY) return redraw(`  · ${state.title}  ${bar(event.fraction)}  ${event.note}`);
          const tenth = Math.floor(event.fraction * 10);
          if (tenth === state.tenth || clock.now() - state.at < 1000) return;
          state.tenth = tenth;
          state.at = clock.now();
          return line(
            `    ${state.title}: ${Math.round(event.fraction * 100)} %${event.note ? `, ${event.note}` : ''}`,
          );
        }
        case 'end':
          return line(`  ✓ ${event.title}${event.note ? ` — ${event.note}` : ''} (${event.seconds.toFixed(1)} s)`);
        case 'fail':
          return line(`  ✗ ${event.title}: ${event.message}`);
        case 'say':
          return line(event.text);
      }
    },
    close() {
      if (state.open) out.write('\n');
      state.open = false;
    },
  };
}
