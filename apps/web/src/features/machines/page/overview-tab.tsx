import { skipToken, useQuery } from '@connectrpc/connect-query';
import { FleetService, type Machine } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { getRouteApi } from '@tanstack/react-router';
import { useState, useEffect, useRef } from 'react';
import { MachineConditions } from './machine-notices.tsx';
import { useMachine } from '../../../entities/machine/machine-query.ts';
import { SystemCard } from './system-card.tsx';
import { useLostSince } from '../../../ui/contact.tsx';
import { machineView } from '../../../entities/machine/machine-status.ts';
import { CamerasCard } from './cameras-card.tsx';
import { NetworksCard } from './networks-card.tsx';
import { ResourcesCard } from './resources-card.tsx';
import { resourceRows } from './resources.ts';
import { machineSentence, type Sentence } from './machine-sentence.ts';
import { SentenceCard } from './sentence-card.tsx';
import { TimelineCard } from './timeline-card.tsx';
import { UseCard } from './use-card.tsx';
import { LoadedLater } from '../../../ui/loaded-later.tsx';
import { Card, Pair } from '../../../ui/layout.tsx';
import { Ago } from '../../../ui/time.tsx';
import { UserText } from '../../../ui/isolated-text.tsx';
import { bootedAt, factRows } from './facts.ts';
import { msOf } from '../../../ui/times.ts';
import './story.css';

const route = getRouteApi('/machines/$machineId/overview');

/** OVERVIEW: what is true of the machine now, its images and resources, what it used, what happened, and what it is. */
export function OverviewTab() {
  const machine = useMachine().data?.machine;
  if (machine === undefined) return null; // The page around it says why.
  return <Story machine={machine} />;
}

/** The list of conditions says the rest. */
const withoutAbout = ({ tone, head, detail, about }: Sentence): Sentence => ({
  tone,
  head,
  detail: about ? [] : detail,
});

function Story({ machine }: { machine: Machine }) {
  const search = route.useSearch();
  const lostSince = useLostSince();
  const isLost = lostSince !== undefined;
  const [isOpen, setOpen] = useState(false);
  const sentence = machineSentence(machine, lostSince);
  const revision = machine.wantedRevision;
  const config = useQuery(
    FleetService.method.getConfig,
    // Revision 0 would mean the newest one, which CONFIGURE keeps under the same key.
    revision === 0n ? skipToken : { partId: machine.partId, revision },
    { placeholderData: (before) => before },
  );
  const { data } = config;
  // All cards appear at once: one that came later would move those below it.
  if (revision > 0n && !data && !config.error) return <SentenceCard machine={machine} sentence={sentence} />;
  const text = revision === 0n ? '{}' : data && (data.mergedJson || data.configJson);
  const rows = text === undefined ? undefined : resourceRows(text, machine, isLost);
  const about = { machineId: machine.id, partId: machine.partId, search };
  return (
    <div className="story">
      <div className="story-side">
        <div className="story-main">
          <SentenceCard machine={machine} sentence={isOpen ? withoutAbout(sentence) : sentence}>
            {!isOpen && <ConditionsButton onPress={() => setOpen(true)} />}
          </SentenceCard>
          {(!isOpen || machine.sharedIdentity) && (
            <MachineConditions machine={machineView(machine)} except={sentence.about} />
          )}
          {isOpen && <ConditionsLater machineId={machine.id} />}
          <CamerasCard partId={machine.partId} cameras={(rows ?? []).filter(({ isCamera }) => isCamera)} />
        </div>
        <div className="story-use">
          {machine.report && <UseCard {...about} />}
          <NetworksCard machine={machine} isLost={isLost} />
          <SystemCard machine={machine} />
        </div>
      </div>
      <div className="story-side">
        <div className="story-rows">
          <ResourcesCard machineId={machine.id} rows={rows} error={config.error} />
        </div>
        <div className="story-past">
          <FactsCard machine={machine} />
          <TimelineCard {...about} />
        </div>
      </div>
    </div>
  );
}

/** Opens the list, which is fetched then: the page shows what is wrong now without it. */
const ConditionsButton = ({ onPress }: { onPress: () => void }) => (
  <>
    {' · '}
    <button type="button" className="link-button" aria-expanded={false} onClick={onPress}>
      Mute and history of conditions
    </button>
  </>
);

/** It has the focus that its button had. */
function ConditionsLater({ machineId }: { machineId: string }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => place.current?.focus({ preventScroll: true }), []);
  return (
    <div ref={place} tabIndex={-1}>
      <LoadedLater
        name="conditions of a machine"
        load={() => import('../../../entities/condition/machine-conditions.tsx')}
        className="card"
      >
        {(module) => <module.MachineConditions machineId={machineId} />}
      </LoadedLater>
    </div>
  );
}

/** The hardware and the operating system of a machine, as of its last report. */
function FactsCard({ machine }: { machine: Machine }) {
  const rows = factRows(machine);
  const booted = bootedAt(machine);
  if (rows.length === 0) return null;
  return (
    <Card
      title="Machine"
      hint={
        <>
          as of <Ago at={msOf(machine.reportedOn)} />
        </>
      }
    >
      <div className="card-body">
        <dl className="pair-list">
          {rows.map(([label, value]) => (
            <Pair key={label} name={label} className="break">
              <UserText text={value} />
            </Pair>
          ))}
          {booted !== undefined && (
            <Pair name="Started">
              <Ago at={booted} />
            </Pair>
          )}
        </dl>
      </div>
    </Card>
  );
}
