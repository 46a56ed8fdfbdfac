import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import {
  DeviceAgentConfigRequestSchema,
  DeviceAgentConfigResponseSchema,
} from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import type { Identities } from '../auth/identities.ts';
import type { Tokens } from '../auth/tokens.ts';
import type { Deps } from '../rpc/routes.ts';
import type { Request, Response } from './mux.ts';

/** Answers a call from memory, or says that it cannot. */
export const fastPath =
  (_deps: Pick<Deps, 'answers' | 'presence' | 'publicUrl' | 'listensAt'>, _identities: Identities, _tokens: Tokens) =>
  (_request: Request, _response: Response): boolean => {
    void [
      create,
      fromBinary,
      toBinary,
      durationFromMs,
      DeviceAgentConfigRequestSchema,
      DeviceAgentConfigResponseSchema,
    ];
    return false;
  };
