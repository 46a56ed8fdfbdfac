// A stand-in for another product's agent, limited to its updates. It requests its configuration over gRPC under the
// public names. It downloads the offered program without credentials, links it in its own place, runs it once with
// --install, and exits. Its service then starts the linked program.
import { createHash } from 'node:crypto';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import http2 from 'node:http2';
import path from 'node:path';
import { parseArgs } from 'node:util';
import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import {
  DeviceAgentConfigRequestSchema,
  DeviceAgentConfigResponseSchema,
  type UpdateInfo,
} from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { AuthenticateRequestSchema, AuthenticateResponseSchema } from '@platform/contract/gen/proto/rpc/v1/auth_pb';
import { systemClock } from '@platform/kit/node';

const { values } = parseArgs({
  options: {
    config: { type: 'string', short: 'c', default: '/etc/viam.json' },
    'enable-syscfg': { type: 'boolean' },
    'enable-networking': { type: 'boolean' },
  },
});
const root = process.env['OTHER_AGENT_ROOT'] ?? '';
const running = process.env['OTHER_AGENT_VERSION'] ?? '';
const platform = `linux/${process.arch === 'arm64' ? 'arm64' : 'amd64'}`;
const passMs = 200;

interface Program {
  target_version: string;
  current_version: string;
  previous_version: string;
  versions: Record<string, { Version: string; URL: string; DlPath: string; UnpackedPath: string; SymlinkPath: string }>;
}
const recordFile = path.join(root, 'cache', 'version_cache.json');
const readRecord = () => JSON.parse(readFileSync(recordFile, 'utf8')) as { viam_agent: Program };

async function call<I extends DescMessage, O extends DescMessage>(
  session: http2.ClientHttp2Session,
  method: string,
  input: readonly [I, MessageInitShape<I>],
  output: O,
  token?: string,
): Promise<MessageShape<O>> {
  const stream = session.request({
    ':method': 'POST',
    ':path': method,
    'content-type': 'application/grpc',
    te: 'trailers',
    'user-agent': 'grpc-go/1.79.3',
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  });
  const body = toBinary(input[0], create(input[0], input[1]));
  const head = Buffer.alloc(5);
  head.writeUInt32BE(body.length, 1);
  stream.end(Buffer.concat([head, body]));
  const seen: http2.IncomingHttpHeaders = {};
  stream.on('response', (headers) => Object.assign(seen, headers));
  stream.on('trailers', (headers: http2.IncomingHttpHeaders) => Object.assign(seen, headers));
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  if (seen['grpc-status'] !== '0') throw new Error(`${method}: ${String(seen['grpc-message'])}`);
  return fromBinary(output, Buffer.concat(chunks).subarray(5));
}

/** @returns whether another program took its place. */
async function update({ filename, url, version, sha256 }: UpdateInfo): Promise<boolean> {
  const record = readRecord();
  const program = record.viam_agent;
  if (version === '' || version === program.current_version) return false;
  const file = path.join(root, 'cache', path.basename(new URL(url).pathname));
  const bytes = Buffer.from(await (await fetch(url)).arrayBuffer());
  writeFileSync(file, bytes);
  chmodSync(file, 0o755);
  if (!createHash('sha256').update(bytes).digest().equals(sha256)) return false;
  const link = path.join(root, 'bin', filename);
  rmSync(link, { force: true });
  symlinkSync(file, link);
  program.previous_version = program.current_version;
  program.target_version = version;
  program.current_version = version;
  program.versions[version] = { Version: version, URL: url, DlPath: file, UnpackedPath: file, SymlinkPath: link };
  writeFileSync(recordFile, JSON.stringify(record));
  const { status, stderr } = spawnSync(link, ['--install'], { encoding: 'utf8' });
  // It continues whatever the result.
  if (status !== 0) console.error(`--install ended with ${status}: ${stderr}`);
  return true;
}

const { cloud } = JSON.parse(readFileSync(values.config, 'utf8')) as {
  cloud: { app_address: string; id: string; secret: string };
};
if (!existsSync(recordFile)) throw new Error('it was not installed');
const session = http2.connect(cloud.app_address);
const { accessToken } = await call(
  session,
  '/proto.rpc.v1.AuthService/Authenticate',
  [AuthenticateRequestSchema, { entity: cloud.id, credentials: { type: 'robot-secret', payload: cloud.secret } }],
  AuthenticateResponseSchema,
);
for (;;) {
  const installed = readRecord().viam_agent.current_version;
  const { agentUpdateInfo } = await call(
    session,
    '/viam.app.agent.v1.AgentDeviceService/DeviceAgentConfig',
    [
      DeviceAgentConfigRequestSchema,
      {
        id: cloud.id,
        hostInfo: { platform, distro: 'debian:12', tags: [] },
        versionInfo: {
          agentRunning: running,
          agentInstalled: installed,
          serverRunning: '0.131.0',
          serverInstalled: '0.131.0',
        },
      },
    ],
    DeviceAgentConfigResponseSchema,
    accessToken,
  );
  if (agentUpdateInfo && (await update(agentUpdateInfo))) break;
  console.log('checked');
  await systemClock.sleep(passMs);
}
session.close();
process.exit(0);
