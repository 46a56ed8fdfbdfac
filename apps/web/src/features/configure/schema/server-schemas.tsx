import { useQuery } from '@connectrpc/connect-query';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { readServerSchemas } from '@platform/contract/machine-server/schemas';
import { createContext, useContext, useMemo } from 'react';
import type { ReactNode } from 'react';
import { drawnSchemas } from './attribute-schemas.ts';
import type { DrawnSchemas } from './attribute-schemas.ts';

interface ServerSchemasState {
  /** Undefined: none, or not known yet. */
  readonly drawn: DrawnSchemas | undefined;
  /** Why there is no form for attributes, or of which server it is. */
  readonly note: string | undefined;
  /** The machine has not reported, and is taken to run this server; undefined: its own. */
  readonly assumedServer?: string | undefined;
}

const refreshMs = 10_000;
const unknown: ServerSchemasState = { drawn: undefined, note: undefined };
const SchemasContext = createContext<ServerSchemasState>(unknown);

/** Gives the form what the machine server of a part reported about its attributes. */
export function ServerSchemas({ partId, children }: { partId: string; children: ReactNode }) {
  const { data } = useQuery(
    FleetService.method.getServerSchemas,
    { partId },
    { refetchInterval: refreshMs, refetchOnWindowFocus: false, retry: false, structuralSharing: keepEqual },
  );
  const state = useMemo(() => (data === undefined ? unknown : readState(data)), [data]);
  return <SchemasContext value={state}>{children}</SchemasContext>;
}

export const useServerSchemas = (): ServerSchemasState => useContext(SchemasContext);

interface Answer {
  readonly sha256: string;
  readonly schemasJson: string;
  readonly refused?: { readonly message: string; readonly remedy: string } | undefined;
  readonly assumedServer: string;
}

/** An equal answer is the one before: the form is not drawn anew. */
function keepEqual(before: unknown, after: unknown): unknown {
  const [a, b] = [before as Answer | undefined, after as Answer];
  const isEqual =
    a?.sha256 === b.sha256 &&
    a.schemasJson === b.schemasJson &&
    a.assumedServer === b.assumedServer &&
    a.refused?.message === b.refused?.message;
  return isEqual ? before : after;
}

/** Until the machine reports its own schemas. */
const noteOf = (server: string): string =>
  `Assumed: fields of ${server}. The machine has not reported yet; what its own server reports replaces them.`;

const withoutForm = 'Lists and objects in attributes are edited in the JSON.';

function readState({ sha256, schemasJson, refused, assumedServer }: Answer): ServerSchemasState {
  if (refused !== undefined) return { drawn: undefined, note: `${refused.message} ${withoutForm}` };
  if (sha256 === '')
    return { drawn: undefined, note: `The server of this machine has reported no schemas. ${withoutForm}` };
  if (schemasJson === '')
    return { drawn: undefined, note: `The schemas of this machine's server have not arrived yet. ${withoutForm}` };
  const read = readServerSchemas(schemasJson);
  return read.ok
    ? {
        drawn: drawnSchemas(read.schemas),
        ...(assumedServer === '' ? { note: undefined } : { note: noteOf(assumedServer), assumedServer }),
      }
    : {
        drawn: undefined,
        note: `The schemas of this machine's server cannot be used: ${read.problem}. ${withoutForm}`,
      };
}
