// A machine of the lab whose packages come from an archive of the test: apt-archive.sh makes it.
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { ConfigSlice, type Machine } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { tempFolder } from '@platform/kit/testing';
import { isSliceInEffect } from '../src/config-in-effect.ts';
import type { container } from './machine.ts';

/** A release of Debian: its name, and that of its archive. */
interface Release {
  suite: string;
  archive: string;
}

type Container = Awaited<ReturnType<typeof container>>;

/** The saved system configuration is in effect. */
export const isSystemApplied = (machine: Machine): boolean => isSliceInEffect(machine, ConfigSlice.SYSTEM);

/** An archive in /srv/repo of the machine, with its packages at version 1.0. */
export async function aptArchive(
  machine: Container,
  { suite, archive: name }: Release = { suite: 'bookworm', archive: 'oldstable' },
) {
  const folder = await tempFolder();
  const archive = folder.file('repo');
  /** @param env - see apt-archive.sh */
  const offer = async (version: string, env: Record<string, string> = {}): Promise<void> => {
    const script = path.resolve(import.meta.dirname, 'apt-archive.sh');
    await promisify(execFile)(script, [archive, version], {
      env: { ...process.env, SUITE: suite, ARCHIVE: name, ...env },
    });
    await machine.push('/srv', archive);
  };
  await offer('1.0');
  return {
    offer,
    /**
     * Installs the packages of the archive and makes it the only repository. The timers of apt run nothing by
     * themselves.
     *
     * @param url - of the archive, as the machine reaches it
     * @param more - packages to install besides
     */
    async use(url: string, more = ''): Promise<void> {
      await machine.must(
        `for s in apt-daily apt-daily-upgrade; do mkdir -p /etc/systemd/system/$s.service.d; printf '[Service]\\nExecStart=\\nExecStart=/bin/true\\n' > /etc/systemd/system/$s.service.d/lab.conf; done; systemctl daemon-reload
        rm -f /etc/apt/sources.list.d/*; for s in ${suite} ${suite}-security acme; do echo "deb [trusted=yes] ${url} $s main"; done > /etc/apt/sources.list
        apt-get -qq update && apt-get -qq install -y --no-install-recommends lab-main lab-sec lab-acme ${more}`,
        300,
      );
    },
    [Symbol.asyncDispose]: folder[Symbol.asyncDispose],
  };
}
