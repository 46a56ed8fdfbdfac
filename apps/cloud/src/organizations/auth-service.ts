import type { ConnectRouter } from '@connectrpc/connect';
import { PlatformError } from '@platform/contract/errors/errors';
import { AuthService, ExternalAuthService } from '@platform/contract/gen/proto/rpc/v1/auth_pb';
import type { Authenticator } from '../access/authenticate.ts';
import { unsupported } from '../rpc/unsupported.ts';
import { invalidArgument } from '../rpc/rules/invalid-argument.ts';

export const authRoutes =
  ({ authenticator }: { authenticator: Authenticator }) =>
  (router: ConnectRouter): void => {
    router.service(AuthService, {
      async authenticate({ entity, credentials }, context) {
        if (context.requestHeader.has('authorization')) {
          throw new PlatformError('INVALID_ARGUMENT', {
            field: 'authorization',
            limit: 'a call that authenticates must not carry a token',
          });
        }
        if (!credentials)
          throw new PlatformError('INVALID_ARGUMENT', { field: 'credentials', limit: 'they are required' });
        const { type, payload } = credentials;
        if (type !== 'api-key' && type !== 'robot-secret') {
          throw invalidArgument('credentials.type', type, 'api-key and robot-secret are known');
        }
        return { accessToken: await authenticator.token(type, entity, payload) };
      },
    });
    router.service(ExternalAuthService, {
      authenticateTo: unsupported('tokens for calls to a machine'),
    });
  };
