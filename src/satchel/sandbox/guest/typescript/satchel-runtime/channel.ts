/** The connection over a socket: requests and answers as frames, many in flight. */
import type { Socket } from "node:net";
import { NotConnectedError, PermissionError, ToolError } from "./errors.ts";
import { Bytes, decode, encode, hasOwn, parse, PromiseOf, setBytes, subarray } from "./intrinsics.ts";
import { toJson } from "./json.ts";

const HEAD = 4; // bytes that say how long a frame is

type Params = Record<string, unknown>;
interface Answer {
  id: number;
  result?: unknown;
  error?: { kind: string; message: string; server?: string; tool?: string };
}
type Settle = (answer: Answer | null) => void;

/** Sends requests through a socket, which keeps the process alive only while an answer is awaited. */
export class Channel {
  readonly #socket: Socket;
  readonly #heard: (message: Params) => void;
  readonly #lost: (error?: Error) => void;
  // A plain object, because the methods of a Map can be replaced.
  readonly #waiting: Record<number, Settle> = Object.create(null);
  #count = 0;
  #lastId = 0;
  #isClosed = false;
  #isHead = true;
  #frame = new Bytes(HEAD);
  #filled = 0;

  /** `heard` is given what comes without being an answer; `lost` is called when nothing comes any more. */
  constructor(socket: Socket, heard: (message: Params) => void, lost: (error?: Error) => void) {
    this.#socket = socket;
    this.#heard = heard;
    this.#lost = lost;
    socket.on("data", (data: Uint8Array) => this.#read(data));
    socket.on("end", () => this.#close());
    socket.on("close", () => this.#close());
    socket.on("error", (error: Error) => this.#close(error));
  }

  async request(method: string, params: Params): Promise<unknown> {
    if (this.#isClosed) throw new NotConnectedError("the connection to Satchel is closed");
    const body = `"method":${toJson(method)},"params":${toJson(params)}}`;
    const id = ++this.#lastId;
    const answer = await new PromiseOf<Answer | null>((settle) => {
      this.#waiting[id] = settle;
      this.#count++;
      this.#socket.ref();
      this.#send(`{"id":${id},${body}`);
    });
    // Made here and not where the answer is read: so the stack has the line that is waiting for it.
    if (answer === null) throw new NotConnectedError("the connection to Satchel was closed");
    if (answer.error !== undefined && hasOwn(answer, "error")) throw errorOf(answer.error);
    return answer.result;
  }

  /** Say something that has no answer, and wait until it is written, if you like. `params` are JSON already. */
  tell(method: string, params: string): Promise<void> {
    const text = `{"method":${toJson(method)},"params":${params}}`;
    return new PromiseOf<void>((settle) => this.#send(text, () => settle()));
  }

  /** Stay while nothing is asked, to hear what the other side says; or don't. */
  listen(isListening: boolean): void {
    if (isListening || this.#count > 0) this.#socket.ref();
    else this.#socket.unref();
  }

  #send(text: string, written?: () => void): void {
    const body = encode(text);
    const frame = new Bytes(HEAD + body.length);
    frame[0] = body.length >>> 24;
    frame[1] = body.length >>> 16;
    frame[2] = body.length >>> 8;
    frame[3] = body.length;
    setBytes(frame, body, HEAD);
    this.#socket.write(frame, written);
  }

  #read(data: Uint8Array): void {
    let at = 0;
    while (at < data.length) {
      const part = subarray(data, at, at + this.#frame.length - this.#filled);
      setBytes(this.#frame, part, this.#filled);
      at += part.length;
      this.#filled += part.length;
      if (this.#filled === this.#frame.length) this.#take(this.#frame);
    }
  }

  /** A head, which says how much follows, or what follows. */
  #take(bytes: Uint8Array): void {
    const size = this.#isHead ? bytes[0] * 2 ** 24 + (bytes[1] << 16) + (bytes[2] << 8) + bytes[3] : HEAD;
    const isBody = !this.#isHead;
    this.#frame = new Bytes(size);
    this.#filled = 0;
    this.#isHead = isBody;
    if (isBody) this.#handOut(parse(decode(bytes)));
  }

  #handOut(frame: Answer | Params): void {
    if (!hasOwn(frame, "id")) {
      this.#heard(frame as Params);
      return;
    }
    const answer = frame as Answer;
    const settle = this.#waiting[answer.id];
    if (settle === undefined) return;
    delete this.#waiting[answer.id];
    this.#count--;
    this.listen(false);
    settle(answer);
  }

  #close(error?: Error): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#socket.destroy();
    for (const id in this.#waiting) {
      const settle = this.#waiting[id];
      delete this.#waiting[id];
      settle(null);
    }
    this.#lost(error);
  }
}

/** The error that a program can catch. */
function errorOf(details: NonNullable<Answer["error"]>): Error {
  if (details.kind === "permission") return new PermissionError(details.message);
  return new ToolError(details.server ?? "", details.tool ?? "", details.message, details.kind);
}
