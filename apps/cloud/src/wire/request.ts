import http from 'node:http';

/** HTTP/2 requests have the same type (Node's compatibility layer); `http2Stream` distinguishes them. */
export type Request = http.IncomingMessage;

export type Response = http.ServerResponse;

/** Answers a request. If it throws or rejects, only this request ends. */
export type Listener = (request: Request, response: Response) => void | Promise<void>;
