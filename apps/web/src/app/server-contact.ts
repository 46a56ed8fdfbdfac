import { Code, ConnectError, type Interceptor } from '@connectrpc/connect';
import { Cell, type Clock } from '@platform/kit';
import { hasServerAnswer } from '../ui/failures.ts';
import { type Contact, initialContact } from '../ui/server-contact.ts';

/** Measures, by the calls of all pages, whether the server answers. */
export function serverContact(clock: Clock): { contact: Cell<Contact>; interceptor: Interceptor } {
  const contact = new Cell(initialContact);
  const waiting = new Set<{ since: number }>();
  const settle = (change: Partial<Contact>): void => {
    const waitingSince = waiting.size === 0 ? undefined : Math.min(...[...waiting].map(({ since }) => since));
    contact.update((before) => ({ ...before, ...change, waitingSince }));
  };
  const interceptor: Interceptor = (next) => async (request) => {
    const call = { since: clock.wall() };
    waiting.add(call);
    settle({});
    try {
      const response = await next(request);
      waiting.delete(call);
      settle({ answered: clock.wall(), isFailing: false });
      return response;
    } catch (error) {
      waiting.delete(call);
      if (hasServerAnswer(error)) settle({ answered: clock.wall(), isFailing: false });
      else if (ConnectError.from(error).code === Code.Canceled) settle({});
      else settle({ isFailing: true });
      throw error;
    }
  };
  return { contact, interceptor };
}
