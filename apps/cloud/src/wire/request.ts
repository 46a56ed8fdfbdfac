import http from 'node:http';

/** HTTP/2 requests come in the same shape (Node's compatibility layer); `http2Stream` tells them. */
export type Request = http.IncomingMessage;

export type Response = http.ServerResponse;

/** Answers a request. What it throws or rejects with ends this request alone. */
export type Listener = (request: Request, response: Response) => void | Promise<void>;
