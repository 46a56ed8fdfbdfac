// Answers of Linux 6.1 to the agent's requests, recorded from a simulated radio in Germany. All of them, gzipped: each
// datagram after its length.
import { gunzipSync } from 'node:zlib';

const packed = `
H4sIAAAAAAACA+1da2wUVRQ+szO7O7vdtgtddtuy0BUroCBWQSkKUoXEH/4Q389oE6uSSBQfUYhGGq2KgIJa3y8SjQ/UaCJREo3U+CLRaBM1aj
TaBBKjEmkiiQYf67nn3F32rlh7tz1QOt3lcu7snLnf/c7cmXvnftOZnhqAbgDIQQgctG/jfy4mn5YAYvj78qUrW1Teh1ngoQ3DAoiSPZGWfVgI
efz40EY2DOfTtmGYof1vouUItMICX9mb9frbyXqwFNN1mG7FtBbTOvKwqVMLzAPnpVoIYwph8jDFMfmYYpgimKoxVWFKKD84R2NfjmVcA1zWtW
QvssSeid4ervdwnQcuJvWNYIpi8jHFMMUxVUF7yJJXKA0zcZsUlpvPQ/HjUDw9uCWp4hjGtcpG8Iv1d2LQiR6+rlNc4a3Y1tiG62qV59ZPiuUk
0WNPfk++8JmEpQz0iWCpat9XY21xH/2dz69yuL5xWI2fCHJUn07EZHx3v+BHGR8K+OchDuNHGX95Zwk+VIy/EctKAO+zOG3PcU5RWwrhMvOeW1
zmelyllxPUIhyYj8sJxFL5CygfofwKykcpv5nyPuX7KR+j/FJH5eOU76N8FeWz2E6WWrbdVkjDHDp+HGzH7LsspmxKHx8xarce1bwRf49Ab3So
OByza8RxeF/cII7D+/imQeB0WOLMQZwWOsc4MF23nU4DZ7gxuE3eLorBbX2NKAYfQ+tFMfjY7P4fjKG1LT7mHzEw4gI4fD55UhyHz1VPi+MkyP
f5QeAMrQ1U87nawAkV+3yfemSg870NRgIxfCrLgTbLMUMSxwyJkGM1ZlB9zqZNQEm16j1ep9uB44iuAcYR2X3044WvTT/+Z9NC1Y+rLhMxeByB
XXmxL+8aYCyxv+ow0Hgiu4/xxGDr0FEynuAxgVMyJgiVjAnckjGBVzImCJeMCSIlY4JocUzwu2Xb24Zt7z1c34PprULdUuV9W03xGPrTV9cQ46
GZYupQu4pguXyN4GKO25061ppxvfKJap/aMp+NtconRD612ifvso+rfZZnlI+7T59oic9uS97vIW/m7MAWvR+WGLxHO2dubx0HGecdFw+VNx9b
Kw4y3knHjnMfcv4W13+F6XN9DllncA7rMyL3ATu/UT7V0P6TGQ/Fc/TFg8+jG8fioePBfcnmURSPlGU8dmA8+nA9x4T7022Djkc8AG2Er39unj
DYmMSK8ZgeH5nxSFjG41uMB8fCgV59rbZh0PEYzbHg68lnxmKBseBr3i1jscBY8HX5x2OxwFjw3EHfWCwwFjXku3ssFhiLWvL102Ox6IUkz2OM
xQJjMY58W0ZJLIY29hxPvovTNuPxkR2PyuahHT0PXceaWrp8nm7vXHcqDNBuraundfkOckixNmRgDGf5E1jrECs/Tb4vi5WfId93xMqvJ98vBi
i/Ms3E0e2ogXy//1cbig8zTiP57hgEztCOiYnk+2O6XAMaTows+f6SHlj/GRrGJPL9VRRjMvn+LorRRL5/iWLkyDeUkcQ4hHyjohhTyDchinEo
+Y4TxWgm37QoxmHkO1EUYyr55kQxppHvYRkJLdkhLTlnqSX3O2nY6bjQ5cRgw37Qgv/O5/FffhXQckGHJSm2qMUqxTp/ImB95HVhm/q0C2nEhf
L3h1ZcmY7mah2NfRdl/q0Vj2Qdrd+Scw9yfgvL2EIx5n1wbsbUDkcvX25nVwaGLx9LqwLDl88X9weGL58TnwsMXz7vvxkYvty3fRoYvqzJbg8M
X9ZcfwsMX9ZVq+qDwpe106bA8GV9dHZg+LIGekpg+LLOeWFg+LKWeXVg+LJeeVtg+LIm+VBg+LLu+GJg+LKuuDUwfFnj/CwwfFlz/SEwfHku/I
+DiO/Q5mRZk65tKNdARzbnynQUV+sorJMf2iCh1RQwWCufK4rBOvmpohiskV8iisEa+XWiGKyR3ymKwRr5Y6IYrJG/IorBGvm7ohiskX8pisEa
+c+iGKyR50UxWCOva5TEYI18migGa+QniGKwRn6aKMZ08r1UFONw8r1RFOMI8l0rijGDfJ8SxZhJvq+JYhxJvh+KYswi329EMY4i312iGC3k60
6UxDiafDOiGMeQ7wxRjNnku1AUYw75nimKcSz5XiGKcRw/R0cUYy4/F0YUo5WfcSKKMY983xDFOJ58P5oocT+aS/ejVXYfsWf1bBNV58ri4Ok4
sO8dLsdhtzOcsfaK93fT9YsrsT8LGCEDQ4YH3y+zWpSHZ2DI8OD7Qu4S5RExMGR48P0Pa0R5+AaGDA/W+deK8ogbGDI8WM9eJ8ojYWDI8GDd9m
5RHjUGhgwP1ifvEeWRNDBkeLAOt16Ux3gDQ4YH600bRHmkDAwZHqyr3CvKI21gyPBg/eA+UR71BoYMD56vv1+UR6OBIcOD5+u7RXlkDQwZHjxf
/4Aoj8kGhgwPnq9/UJRHzsCQ4cHz9Q+J8phiYMjw4Pn6h0V5NBsYMjx4vv4RUR5TDQwZHjxf/6goj+kGhgwPnq9/TJTHEQaGDA+er39clMdMA0
OGB8/XPyHKY5aBIcOD5+ufFOXRYmDI8OD5+qdEeRxjYPwXj8rmIz2aj5xjua2n5iMtn2PiOcwjSr+FqNZqPrSKrEf3xfgQxishIE4ZslEcMfFz
TRrIxrCH4PcuTCVbhWdaZRN6vrIaj3Rla2Ax2Vp6J4GP16LzyI6DE8iOh0Vk63APclxPIjsBziCbhtPJZuAssvVwLtkGOJtsI73tw8dx6UVks8
hS2Un0jGwfx2CXk22iuV4fI7Wygn3kw9Wwuk7FexmVa7PtZuv2sLL4Do8V+L1ePQeY3vHAc7SO3m8ePZOD51TVw7rr6bfCO0D2vvsjpedE924X
pzWF5ZDP+3uX3t/8vGnb+KyH7e9GZ0yGbth+alPxfRb5sr8lzkUs59u9S8l20b1fl+m/R74MWxHbnLYt2rZpu0Tbdm2Xa9up7QZtN2r7qrY92v
Zq26dtv34O+IGvgzsC6uAd8DqoZy2pWnRhOz/w8fBHQB1iI6AO8RHQLvj9CkucDjpvNOvzRtsAZWT1cV3u00v9hHm85co4DFS3+WXHic22hfad
1e17Xz4p3e7aDMxYxZgpvf/ajHpwPH34TvcX3+t3bfURRgJewPVqC2hLwKZiPokI/U2ds1UHoFKc7rTlTxae7YyrZ+ToZfWsipN1vtV6/NOD6R
1qS1bvqID36fkV19exdpuED4zlxdbvJPuE+CTga1g0BXYkX3dyrdZ96C5aZzu+sPW3rVcE5jshah+c3JJt1ecfuU5y88RtAAA=
`;

/** The description of the radio, in three datagrams. */
export function recordedRadio(): readonly Uint8Array[] {
  const all = gunzipSync(Buffer.from(packed, 'base64'));
  const answers: Uint8Array[] = [];
  for (let at = 0; at < all.length;) {
    const size = all.readUInt32LE(at);
    answers.push(all.subarray(at + 4, at + 4 + size));
    at += 4 + size;
  }
  return answers;
}

/** "No such family": the kernel has no radios. */
export const recordedNoFamily = Buffer.from(
  '340000000200000001000000be010000feffffff20000000100005000100000000000000030000000b0002006e6f737563680000',
  'hex',
);
/** The acknowledgement of a request. */
export const recordedAcknowledgement = Buffer.from(
  '240000000200000101000000be0100000000000014000000200005000100000000000000',
  'hex',
);
/** The rules of Germany, cut after the first. */
export const recordedRules = Buffer.from(
  '640000002000000001000000be0100001f01000007002100444500000500920002000000400022003c000000080001000000000008000200009f2400080003002ce5250008000400409c0000080005000000000008000600d0070000080007000000000000000000'.slice(
    0,
    200,
  ),
  'hex',
);
