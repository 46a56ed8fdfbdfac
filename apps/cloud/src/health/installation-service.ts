import type { ConnectRouter } from '@connectrpc/connect';
import { PlatformError } from '@platform/contract/errors/errors';
import { InstallationService } from '@platform/contract/gen/platform/installation/v1/installation_pb';
import { callerOf } from '../access/caller.ts';
import { mayReadMetrics } from '../access/rules/permissions.ts';
import type { Backups } from '../backup/scheduled.ts';
import { timeOf } from '../rpc/protobuf-times.ts';
import type { Readiness, ReadinessDeps } from './readiness.ts';

export type HealthDeps = {
  readiness: () => Promise<Readiness>;
  /** End of the TLS certificate in use, ms since 1970; undefined without TLS. */
  certificateEnds: () => number | undefined;
  certificate: ReadinessDeps['certificate'];
  backups: Pick<Backups, 'folder' | 'schedule' | 'last' | 'problem'>;
};

export const installationRoutes =
  ({ readiness, certificateEnds, certificate, backups }: HealthDeps) =>
  (router: ConnectRouter): void => {
    router.service(InstallationService, {
      async getHealth(_request, context) {
        if (!mayReadMetrics(callerOf(context)))
          throw new PlatformError('PERMISSION_DENIED', { resource: 'the installation' });
        const [{ word, checks }, last] = await Promise.all([readiness(), backups.last()]);
        const { everyHours = 0, keep = 0 } = backups.schedule ?? {};
        const ends = certificateEnds();
        return {
          state: word,
          checks: checks.map(({ name, problem, note }) => ({
            name,
            passed: problem === undefined,
            text: [problem, note].filter((text) => text !== undefined).join(', '),
          })),
          problems: certificate().problems.map(({ text, isFatal }) => ({ text, isFatal })),
          backups: {
            everyHours,
            keep,
            ...(last !== undefined && { lastOn: timeOf(last) }),
            problem: backups.problem() ?? '',
          },
          ...(ends !== undefined && { certificateExpiresOn: timeOf(ends) }),
        };
      },
    });
  };
