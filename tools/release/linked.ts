import type { Component } from './components.ts';

const linked = (name: string, license: string, url: string): Component => ({
  type: 'library',
  name,
  license,
  url,
  texts: [],
});

const linkedByEmscripten: readonly Component[] = [
  linked('emscripten', 'MIT', 'https://github.com/emscripten-core/emscripten'),
  linked('musl', 'MIT', 'https://musl.libc.org/'),
  linked('libc++', 'Apache-2.0 WITH LLVM-exception', 'https://github.com/llvm/llvm-project'),
];

/**
 * What the runtime of compiled programs links statically, by its license page (https://bun.sh/docs/project/licensing).
 * Its polyfills of npm packages are all under the MIT license.
 */
export const linkedIntoBun: readonly Component[] = [
  linked('JavaScriptCore', 'LGPL-2.0-or-later AND BSD-2-Clause', 'https://github.com/oven-sh/WebKit'),
  linked('boringssl', 'Apache-2.0 AND ISC AND MIT', 'https://boringssl.googlesource.com/boringssl/'),
  linked('brotli', 'MIT', 'https://github.com/google/brotli'),
  linked('libarchive', 'BSD-2-Clause', 'https://github.com/libarchive/libarchive'),
  linked('lol-html', 'BSD-3-Clause', 'https://github.com/cloudflare/lol-html'),
  linked('ls-hpack', 'MIT', 'https://github.com/litespeedtech/ls-hpack'),
  linked('ls-qpack', 'MIT', 'https://github.com/litespeedtech/ls-qpack'),
  linked('lsquic', 'MIT AND BSD-3-Clause', 'https://github.com/litespeedtech/lsquic'),
  linked('mimalloc', 'MIT', 'https://github.com/microsoft/mimalloc'),
  linked('picohttpparser', 'Artistic-1.0-Perl OR MIT', 'https://github.com/h2o/picohttpparser'),
  linked('zstd', 'BSD-3-Clause OR GPL-2.0-only', 'https://github.com/facebook/zstd'),
  linked('simdutf', 'Apache-2.0', 'https://github.com/simdutf/simdutf'),
  linked('tinycc', 'LGPL-2.1-or-later', 'https://github.com/TinyCC/tinycc'),
  linked('uSockets', 'Apache-2.0', 'https://github.com/uNetworking/uSockets'),
  linked('uWebSockets', 'Apache-2.0', 'https://github.com/uNetworking/uWebSockets'),
  linked('zlib-ng', 'Zlib', 'https://github.com/zlib-ng/zlib-ng'),
  linked('c-ares', 'MIT', 'https://github.com/c-ares/c-ares'),
  linked('icu', 'Unicode-3.0', 'https://github.com/unicode-org/icu'),
  linked('libbase64', 'BSD-2-Clause', 'https://github.com/aklomp/base64'),
  linked('libuv', 'MIT', 'https://github.com/libuv/libuv'),
  linked('libdeflate', 'MIT', 'https://github.com/ebiggers/libdeflate'),
  linked('libjpeg-turbo', 'BSD-3-Clause AND IJG AND Zlib', 'https://github.com/libjpeg-turbo/libjpeg-turbo'),
  linked('libspng', 'BSD-2-Clause', 'https://github.com/randy408/libspng'),
  linked('libwebp', 'BSD-3-Clause', 'https://github.com/webmproject/libwebp'),
  linked('highway', 'Apache-2.0', 'https://github.com/google/highway'),
  linked('uucode', 'MIT', 'https://github.com/jacobsandlund/uucode'),
  linked('libc++abi', 'Apache-2.0 WITH LLVM-exception', 'https://github.com/llvm/llvm-project'),
  linked('polyfills of npm packages', 'MIT', 'https://bun.sh/docs/project/licensing'),
];

/**
 * What the core of onnxruntime links, by the list of its build (cmake/deps.txt) without the libraries of other
 * platforms, accelerators and tests. Its packages name none.
 */
export const linkedIntoOnnxruntime: readonly Component[] = [
  linked('eigen', 'MPL-2.0', 'https://gitlab.com/libeigen/eigen'),
  linked('abseil-cpp', 'Apache-2.0', 'https://github.com/abseil/abseil-cpp'),
  linked('date', 'MIT', 'https://github.com/HowardHinnant/date'),
  linked('flatbuffers', 'Apache-2.0', 'https://github.com/google/flatbuffers'),
  linked('GSL', 'MIT', 'https://github.com/microsoft/GSL'),
  linked('json', 'MIT', 'https://github.com/nlohmann/json'),
  linked('mp11', 'BSL-1.0', 'https://github.com/boostorg/mp11'),
  linked('onnx', 'Apache-2.0', 'https://github.com/onnx/onnx'),
  linked('protobuf', 'BSD-3-Clause', 'https://github.com/protocolbuffers/protobuf'),
  linked('re2', 'BSD-3-Clause', 'https://github.com/google/re2'),
  linked('SafeInt', 'MIT', 'https://github.com/dcleblanc/SafeInt'),
];

/** What the WebAssembly files of @jsquash/jpeg link, by the makefiles of its repository. */
export const linkedIntoMozjpeg: readonly Component[] = [
  {
    ...linked('mozjpeg', 'BSD-3-Clause AND IJG AND Zlib', 'https://github.com/mozilla/mozjpeg'),
    texts: ['This software is based in part on the work of the Independent JPEG Group.'],
  },
  ...linkedByEmscripten,
];

/**
 * What LiteRT's WebAssembly links: the names in the file, and what the builds of TensorFlow Lite and XNNPACK need for a
 * CPU. Its package names none.
 */
export const linkedIntoLitert: readonly Component[] = [
  linked('XNNPACK', 'BSD-3-Clause', 'https://github.com/google/XNNPACK'),
  linked('pthreadpool', 'BSD-2-Clause', 'https://github.com/google/pthreadpool'),
  linked('cpuinfo', 'BSD-2-Clause', 'https://github.com/pytorch/cpuinfo'),
  linked('FP16', 'MIT', 'https://github.com/Maratyszcza/FP16'),
  linked('FXdiv', 'MIT', 'https://github.com/Maratyszcza/FXdiv'),
  linked('ruy', 'Apache-2.0', 'https://github.com/google/ruy'),
  linked('gemmlowp', 'Apache-2.0', 'https://github.com/google/gemmlowp'),
  linked('eigen', 'MPL-2.0', 'https://gitlab.com/libeigen/eigen'),
  linked('farmhash', 'MIT', 'https://github.com/google/farmhash'),
  linked('abseil-cpp', 'Apache-2.0', 'https://github.com/abseil/abseil-cpp'),
  linked('flatbuffers', 'Apache-2.0', 'https://github.com/google/flatbuffers'),
  linked('protobuf', 'BSD-3-Clause', 'https://github.com/protocolbuffers/protobuf'),
  ...linkedByEmscripten,
];

/** The shared libraries beside the database's programs, in its package; some have other versions than Debian's. */
export const linkedIntoPostgres: readonly Component[] = [
  linked('postgresql', 'PostgreSQL', 'https://www.postgresql.org/'),
  linked('openssl', 'OpenSSL', 'https://github.com/openssl/openssl'),
  linked('icu', 'Unicode-3.0', 'https://github.com/unicode-org/icu'),
  linked('libxml2', 'MIT', 'https://gitlab.gnome.org/GNOME/libxml2'),
  linked('libxslt', 'MIT', 'https://gitlab.gnome.org/GNOME/libxslt'),
  linked('ossp-uuid', 'ISC', 'http://www.ossp.org/pkg/lib/uuid/'),
  linked('zlib', 'Zlib', 'https://github.com/madler/zlib'),
  {
    ...linked('liblzma', 'LicenseRef-public-domain', 'https://github.com/tukaani-project/xz'),
    texts: ['liblzma of XZ Utils 5.4 and older is in the public domain.'],
  },
];
