import { ViewState } from '@platform/contract/gen/platform/live/v1/live_pb';
import type { KnownView } from './live-views.ts';

/** An image that is younger is shown even if the machine was lost meanwhile. */
const freshMs = 5_000;

/** What a page can say of a camera now. */
export function viewState(of: {
  view: Pick<KnownView, 'receivedAt' | 'problem'> | undefined;
  isLimitReached: boolean;
  isOnline: boolean;
  server: 'knows' | 'does not know' | 'silent';
  now: number;
}): ViewState {
  const { view, server } = of;
  const found = view && (view.problem ? ViewState.PROBLEM : ViewState.IMAGE);
  if (of.isLimitReached) return ViewState.LIMIT_REACHED;
  if (found !== undefined && of.now - view!.receivedAt < freshMs) return found;
  if (!of.isOnline) return ViewState.OFFLINE;
  if (server === 'silent') return ViewState.SERVER_SILENT;
  if (server === 'does not know') return ViewState.NOT_SUPPORTED;
  return found ?? ViewState.WAITING;
}
