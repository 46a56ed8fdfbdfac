import { releasePlatforms, type ReleasePlatform } from '@platform/contract/releases/target-path';

/** A platform that programs are compiled for. */
export interface Platform {
  /** Name of the platform in releases and in the agent. */
  readonly name: ReleasePlatform;
  /** Name of the platform in the compiler. */
  readonly target: string;
  /** npm package of the runtime, and the program in it. */
  readonly runtime: string;
  readonly program: string;
  /** File name suffix of programs. */
  readonly suffix: string;
  /** `process.platform-process.arch` of a machine of this platform. */
  readonly host: string;
}

const details: Readonly<Record<ReleasePlatform, Omit<Platform, 'name'>>> = {
  'linux/amd64': {
    target: 'bun-linux-x64',
    runtime: '@oven/bun-linux-x64',
    program: 'bin/bun',
    suffix: '',
    host: 'linux-x64',
  },
  'linux/arm64': {
    target: 'bun-linux-arm64',
    runtime: '@oven/bun-linux-aarch64',
    program: 'bin/bun',
    suffix: '',
    host: 'linux-arm64',
  },
  'windows/amd64': {
    target: 'bun-windows-x64',
    runtime: '@oven/bun-windows-x64',
    program: 'bin/bun.exe',
    suffix: '.exe',
    host: 'win32-x64',
  },
};

export const platforms: readonly Platform[] = releasePlatforms.map((name) => ({ name, ...details[name] }));

export const hostPlatform = (): Platform | undefined =>
  platforms.find((p) => p.host === `${process.platform}-${process.arch}`);
