/**
 * A minimal machine server as a program file. It reports that it is ready, answers /restart_status, writes to
 * stderr when it starts, and leaves a child that must end with it.
 */
export function tinyServer(version: string, node = process.execPath): string {
  return `#!${node}
const http = require('node:http');
const { spawn } = require('node:child_process');
const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
const server = http.createServer((request, answer) => {
  if (request.url === '/crash') process.exit(3);
  answer.setHeader('content-type', 'application/json');
  answer.end(JSON.stringify({ restart_allowed: true, does_not_handle_needs_restart: true, child: child.pid }));
});
server.listen(0, '127.0.0.1', () => {
  const url = 'http://127.0.0.1:' + server.address().port;
  console.error('tiny server ${version} with process ' + process.pid + ' and child ' + child.pid);
  console.log(JSON.stringify({ platform_server: 'ready', version: '${version}', url, pid: process.pid, revision: 0 }));
});
`;
}
