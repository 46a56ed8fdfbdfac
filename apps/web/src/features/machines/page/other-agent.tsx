import { Command } from '../../../ui/copying.tsx';
import { Ago } from '../../../ui/time.tsx';
import type { MachineView } from '../../../entities/machine/machine-status.ts';

/** The migration of a machine from another product's agent to ours. */
export const OtherAgent = ({ machine }: { machine: MachineView }) =>
  machine.migrationRequested === undefined ? (
    <>
      <p className="small soft">Another product&apos;s agent. To move this machine to platform-agent, run:</p>
      <Command text={`npm run -s platform -- machine migrate ${machine.id}`} />
      <p className="small soft">The other agent fetches it as its update, and is put back if the move fails.</p>
    </>
  ) : (
    <p className="small soft">
      Another product&apos;s agent. A move to platform-agent was requested <Ago at={machine.migrationRequested} />.
    </p>
  );
