import { formatBytes } from '@platform/kit';

interface Terminal {
  write(text: string): unknown;
  readonly isTTY?: boolean;
}

export interface CountScreen {
  show(done: number): void;
  close(): void;
}

const cells = 20;

/** "████░░ 12 of 40 uploaded", redrawn on a terminal; elsewhere one line per 10 %. */
export function countScreen(
  out: Terminal,
  what: string,
  total: number,
  unit: 'pieces' | 'bytes' = 'pieces',
): CountScreen {
  const state = { tenth: 0, isDrawn: false };
  const words = (n: number): string => (unit === 'bytes' ? formatBytes(n) : String(n));
  return {
    show(done) {
      const share = total === 0 ? 1 : Math.min(1, done / total);
      const text = `${words(done)} of ${words(total)} ${what}`;
      if (out.isTTY) {
        const filled = Math.round(share * cells);
        out.write(`\r\u001b[2K${'█'.repeat(filled)}${'░'.repeat(cells - filled)} ${text}`);
        state.isDrawn = true;
        return;
      }
      const tenth = Math.floor(share * 10);
      if (tenth === state.tenth) return;
      state.tenth = tenth;
      out.write(`${text}\n`);
    },
    close() {
      if (state.isDrawn) out.write('\r\u001b[2K');
      state.isDrawn = false;
    },
  };
}
