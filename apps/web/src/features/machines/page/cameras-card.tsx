import { useQuery } from '@connectrpc/connect-query';
import type { BinaryMetadata } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { DataService, Order } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { useState } from 'react';
import { boxesOf } from '../../../entities/image/image-boxes.ts';
import { FailureNote } from '../../../ui/messages.tsx';
import { Ago } from '../../../ui/time.tsx';
import { UserText } from '../../../ui/isolated-text.tsx';
import { useSession } from '../../../entities/session/session.tsx';
import { msOf } from '../../../ui/times.ts';
import { isolateText } from '../../../ui/user-text.ts';
import { boxText, ImageBox } from './image-box.tsx';
import { useLiveView } from './live-query.ts';
import type { LiveAccess } from './live-view.tsx';
import { LiveButton, LiveCaption, LiveImage, useLiveAccess } from './live-view.tsx';
import type { ResourceRow } from './resources.ts';

const refreshMs = 15_000;
/** More have no room; the rest is in the list of resources. */
const mostCameras = 4;

/** Each camera: live while the user looks, else its newest captured image with the boxes that its model found. */
export const CamerasCard = ({ partId, cameras }: { partId: string; cameras: readonly ResourceRow[] }) =>
  cameras.length > 0 && <Cameras partId={partId} cameras={cameras} />;

function Cameras({ partId, cameras }: { partId: string; cameras: readonly ResourceRow[] }) {
  const live = useLiveAccess(partId);
  return (
    <section className="story-cameras" aria-label="Cameras">
      {cameras.slice(0, mostCameras).map((camera) => (
        <Camera key={camera.path} partId={partId} camera={camera} live={live} />
      ))}
      <p className="soft small live-line">{live.text}</p>
    </section>
  );
}

interface CameraProps {
  partId: string;
  camera: ResourceRow;
  live: LiveAccess;
}

function Camera({ partId, camera, live }: CameraProps) {
  const view = useLiveView(partId, camera.name, live.onSent);
  return (
    <figure className="card story-camera">
      {view.mode === 'off' ? (
        <CapturedCamera partId={partId} camera={camera} />
      ) : (
        <>
          <div className="story-image">
            <LiveImage view={view} camera={camera.name} />
          </div>
          <figcaption>
            <CameraName camera={camera} />
            <LiveCaption view={view} />
          </figcaption>
        </>
      )}
      <LiveButton view={view} camera={camera.name} isOffered={live.isOffered} />
    </figure>
  );
}

const CameraName = ({ camera }: { camera: ResourceRow }) => (
  <strong>
    <UserText text={camera.name} />
  </strong>
);

/** The newest image that was captured. */
function CapturedCamera({ partId, camera }: Omit<CameraProps, 'live'>) {
  const { organizationId } = useSession().organization;
  const filter = { organizationIds: [organizationId], partId, componentName: camera.name };
  const { data, error } = useQuery(
    DataService.method.binaryDataByFilter,
    { dataRequest: { filter, limit: 1n, sortOrder: Order.DESCENDING } },
    { refetchInterval: refreshMs },
  );
  const image = data?.data[0]?.metadata;
  return (
    <>
      <div className="story-image">
        {error && <FailureNote error={error} />}
        {image && <CameraImage key={image.binaryDataId} image={image} camera={camera} />}
        {data && !image && <p className="soft small">No image of this camera was captured.</p>}
      </div>
      <figcaption>
        <CameraName camera={camera} />
        {camera.state.tone !== 'good' && (
          <span className={`badge ${camera.state.tone === 'quiet' ? '' : `is-${camera.state.tone}`}`}>
            {camera.state.text}
          </span>
        )}
        <span className="soft small push">
          {image && (
            <>
              captured <Ago at={takenAt(image)} />
            </>
          )}
        </span>
      </figcaption>
    </>
  );
}

const takenAt = ({ timeRequested, timeReceived }: BinaryMetadata): number | undefined =>
  msOf(timeRequested) ?? msOf(timeReceived);

function CameraImage({ image, camera }: { image: BinaryMetadata; camera: ResourceRow }) {
  const [isBroken, setBroken] = useState(false);
  const boxes = boxesOf(image);
  if (isBroken || image.imageProblem !== '')
    return <p className="soft small">The newest file of this camera {image.imageProblem || 'cannot be shown'}.</p>;
  const [width, height] = [image.imageWidth || 16, image.imageHeight || 9];
  const found = boxes.map(boxText).join(', ');
  return (
    <div className="story-frame" style={{ aspectRatio: `${width} / ${height}`, ['--ratio' as string]: width / height }}>
      <img
        src={`/data/${image.binaryDataId}?width=800`}
        alt={`Newest captured image of ${isolateText(camera.name)}${found === '' ? '' : `: ${found}`}`}
        className={camera.state.tone === 'good' ? '' : 'is-past'}
        onError={() => setBroken(true)}
      />
      {boxes.map((box) => (
        <ImageBox key={box.id} box={box} />
      ))}
    </div>
  );
}
