import { Code, ConnectError } from '@connectrpc/connect';
import { useQuery } from '@connectrpc/connect-query';
import { InstallationService } from '@platform/contract/gen/platform/installation/v1/installation_pb';
import { Badge } from '../../ui/badges.tsx';
import { useLostSince } from '../../ui/contact.tsx';
import { Card, Pair } from '../../ui/layout.tsx';
import { FailureNote, Loading, Note } from '../../ui/messages.tsx';
import { Ago, useNow } from '../../ui/time.tsx';
import { healthPairs, healthState, healthWarnings } from './server-health.ts';
import { msOf } from '../../ui/times.ts';

const refreshMs = 30_000;

/** The server and its backups, for owners of the installation. */
export function ServerCard({ version }: { version: string }) {
  const { data, error, dataUpdatedAt } = useQuery(
    InstallationService.method.getHealth,
    {},
    { refetchInterval: refreshMs },
  );
  const now = useNow();
  const isCurrent = useLostSince() === undefined && !error;
  if (error && ConnectError.from(error).code === Code.PermissionDenied)
    return (
      <Note tone="quiet">
        <p>Only owners of the installation see the health and the backups of the server. Its version is {version}.</p>
      </Note>
    );
  return (
    <Card
      title="Server"
      head={
        <>
          {data && <Badge state={healthState(data, isCurrent)} />}
          <span className="soft small">
            Version {version}
            {data && !isCurrent && (
              <>
                {' '}
                · as of <Ago at={dataUpdatedAt} />
              </>
            )}
          </span>
        </>
      }
    >
      {error && <FailureNote error={error} />}
      {!data && !error && <Loading />}
      {data && (
        <div className="card-body stack">
          {healthWarnings(data, now).map(({ text, isBad }) => (
            <Note key={text} tone={isBad ? 'bad' : 'warn'}>
              <p>{text}</p>
            </Note>
          ))}
          <dl className="pair-list">
            {healthPairs(data, now).map(([name, value]) => (
              <Pair key={name} name={name}>
                {value}
              </Pair>
            ))}
            <Pair name="Newest backup">
              <Ago at={msOf(data.backups?.lastOn)} otherwise="none" />
            </Pair>
          </dl>
        </div>
      )}
    </Card>
  );
}
