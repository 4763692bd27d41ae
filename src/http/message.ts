/**
 * A request as it is judged, and a reply as it is kept: no platform in them.
 *
 * @module
 */

/** What an adapter knows of a request, read before the handler runs. */
export interface HttpRequestView {
  /** Upper case. */
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** Raw, without `?`; '' if there is none. */
  readonly query: string;
  /** Case-insensitive; several lines are joined by ', '. */
  header(name: string): string | undefined;
  /** The bytes as sent, empty when there are none. Need not be read when {@link BoundHttp.hashesBody} is false. */
  readonly body: Uint8Array;
  /** Instead of `body`, for one that has to be awaited: read after key and scope were found to be there, and only where it is hashed. */
  readBody?(): Promise<Pick<HttpRequestView, 'body' | 'tooLong'>>;
  /** The body is longer than {@link BoundHttp.maxBodyBytes}, and was not read to its end for that reason. */
  readonly tooLong?: boolean;
}

/** What an adapter gets from the handler, and gives to the platform. */
export interface HttpReply {
  readonly status: number;
  /** Several lines of one name are allowed (`set-cookie`). */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array;
  /** The body cannot be kept (a stream): the record completes without it, and later callers are told so. */
  readonly streamed?: true;
  /** Refused before anything was begun: the record is withdrawn, so that a corrected request may use the key. */
  readonly rejected?: true;
  /** What else belongs to the outcome, kept and replayed with the reply: outputs that the platform writes after the handler. */
  readonly attached?: unknown;
}

/**
 * A handler answered with something that is not kept as final (5xx, 401, 403, 408, 409, 423, 425, 429, or `keep` said no). The caller gets the
 * reply; the record is judged like after a throw, and `onThrow` is asked with this. `remember` keeps the reply after all.
 */
export class HttpNotKept extends Error {
  override readonly name: string = 'HttpNotKept';
  readonly status: number;
  readonly reply: HttpReply;

  constructor(reply: HttpReply) {
    super(`The handler answered ${reply.status}, which is not kept as final.`);
    this.status = reply.status;
    this.reply = reply;
  }
}
