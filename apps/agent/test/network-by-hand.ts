// The adapter for NetworkManager by hand, in the lab's machines. Compile it as the agent is compiled:
//   node_modules/@oven/bun-linux-x64/bin/bun build --compile apps/agent/test/network-by-hand.ts --outfile network-by-hand
// ./network-by-hand country DE | rules IF | eap IF SSID FILE   (FILE: the settings of Eap as JSON)
// ./network-by-hand state | watch | scan IF | join IF SSID [PSK] | hidden IF SSID PSK | hotspot IF SSID PSK | off | remove
import { readFileSync } from 'node:fs';
import { createLog, errorText } from '@platform/kit';
import { stderrSink, systemClock } from '@platform/kit/node';
import { managedFilesOnDisk } from '../src/os/managed-files-on-disk.ts';
import { system } from '../src/composition/system.ts';
import { kernelRadioRules } from '../src/os/linux/kernel/radio-rules.ts';
import type { Eap, NewProfile } from '../src/os/network-port.ts';
import { linuxNetwork } from '../src/os/linux/networkmanager/network-manager.ts';

const log = createLog({ name: 'network', clock: systemClock, level: 'debug', sink: stderrSink('text') });
const root = '/tmp/network-by-hand';
const network = linuxNetwork({
  root,
  clock: systemClock,
  log,
  files: managedFilesOnDisk(root),
  programs: system,
  probe: async () => 'unknown',
});
const stop = new AbortController();
const show = (what: unknown): void => void process.stdout.write(`${JSON.stringify(what, null, 1)}\n`);

const profile = (interfaceName: string, ssid: string, psk: string, isHidden: boolean): NewProfile => ({
  name: `${ssid}@${interfaceName}`,
  type: 'wifi',
  interface: interfaceName,
  priority: 999,
  isAutoconnect: true,
  mark: { kind: 'provisioned' },
  wifi: { ssid, isHidden, security: psk === '' ? { is: 'open' } : { is: 'psk', psk } },
  dns: [],
  routeMetric: 600,
});

async function act([command = 'state', name = '', ssid = '', psk = '']: readonly string[]): Promise<void> {
  switch (command) {
    case 'watch':
      for (;;) {
        show(network.state.get());
        await network.state.changed(stop.signal);
      }
    case 'scan':
      await network.scan(name, stop.signal);
      return show(network.state.get().visible);
    case 'join':
    case 'hidden': {
      const uuid = await network.save(profile(name, ssid, psk, command === 'hidden'));
      return show(await network.join(uuid, name, stop.signal));
    }
    case 'eap': {
      const of = profile(name, ssid, '', false);
      const eap = JSON.parse(readFileSync(psk, 'utf8')) as Eap;
      if (of.wifi) of.wifi.security = { is: 'eap', eap };
      const uuid = await network.save(of);
      await network.setAutoconnect(uuid, false);
      return show(await network.join(uuid, name, stop.signal));
    }
    case 'country':
      return show(await network.setCountry(name));
    case 'rules': {
      const rules = kernelRadioRules();
      return show([await rules.country(), await rules.ownCountry(name), await rules.channels(name)]);
    }
    case 'hotspot':
      return show(
        await network.startHotspot(
          { interface: name, ssid, password: psk, isRedirecting: true, isSharing: false, band: '5' },
          stop.signal,
        ),
      );
    case 'off':
      return network.stopHotspot();
    case 'remove':
      for (const { uuid, mark } of network.state.get().profiles) if (mark) await network.remove(uuid);
      return undefined;
    default:
      return show(network.state.get());
  }
}

const running = network.run(stop.signal);
while (network.state.get().manager === 'starting') await network.state.changed();
await act(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${errorText(error)}\n`);
  process.exitCode = 1;
});
stop.abort();
await running;
