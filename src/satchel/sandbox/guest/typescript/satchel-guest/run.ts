/**
 * Runs the program: the first and only thing that Deno in the box is started for.
 *
 *     deno run FLAGS /opt/satchel/typescript/satchel-guest/run.ts BRIDGE /program/main.ts
 *
 * BRIDGE is the number of the socket's descriptor; FLAGS are in `sandbox/jobs.py`. The inspector among them is
 * what a session evaluates its programs with; it opens no port. Beside the program lie links to `servers`, `tools`, `helpers` and `satchel-runtime`, and `program.json` as `deno.json`,
 * by which its imports are found.
 *
 * A program has ended when nothing keeps Deno alive any more, as always in Deno; so the bridge must not, unless
 * an answer is awaited. The end is told in `unload`, which comes also when the program calls `Deno.exit`, and
 * in a session in `beforeunload`, from where it can go on.
 */
import { Socket } from "node:net";
import type { Channel as ChannelType } from "../satchel-runtime/channel.ts";
import type {} from "../satchel-runtime/globals.d.ts";
import type * as Runtime from "../satchel-runtime/index.ts";
import type { Session } from "./session.ts";
import { Place, resultOf, tellError } from "./telling.ts";

const GAVE_UP = 125; // exit code when Satchel has gone before the program was started
const { exit, readTextFileSync, writeTextFileSync } = Deno;
const [descriptor, program] = Deno.args;
const address = new URL("file:///");
address.pathname = program;
const place = new Place(address);
// The files that the program imports as well, by the same addresses: so they are the same modules.
const runtime: typeof Runtime = await import(new URL("satchel-runtime/index.ts", address).href);
const { Channel } = await import(new URL("satchel-runtime/channel.ts", address).href) as {
  Channel: typeof ChannelType;
};

let state: "waiting" | "running" | "over" = "waiting";
let ending: { code: number; limit?: string } = { code: 0 };
let module: { result?: unknown } = {};
let session: Session | null = null;
let isAlone = false; // whether Satchel has gone

const socket = new Socket({ fd: Number(descriptor), readable: true, writable: true });
const channel = new Channel(socket, start, () => {
  isAlone = true;
  if (state === "waiting") exit(session === null ? GAVE_UP : 0);
});
runtime.connect(channel);
prepareGlobals();
addEventListener("beforeunload", waitForAnother);
addEventListener("unload", () => {
  if (state === "waiting" || session !== null) return; // which ends with `Deno.exit`
  blockOnWrites();
  tellEnd();
});
channel.tell("ready", "{}");

/** Some verbs are there without an import, and `result` can be assigned; the program has no arguments. */
function prepareGlobals(): void {
  const { callMCPTool, searchTools } = runtime;
  const names = { callMCPTool, searchTools, search_tools: searchTools, result: undefined };
  for (const [name, value] of Object.entries(names)) {
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
  }
  // What Deno prints of a promise says neither what is wrong nor what to write.
  Object.defineProperty(Promise.prototype, Symbol.for("Deno.customInspect"), {
    value: () => "Promise { its value comes with await }",
    configurable: true,
    enumerable: false,
  });
  Object.defineProperty(Deno, "args", { value: [], writable: true, configurable: true, enumerable: true });
  addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    fail(event.reason);
  });
  addEventListener("error", (event) => {
    event.preventDefault();
    fail(event.error);
  });
}

/** Satchel says nothing but that a program is to begin. */
async function start(message: { program?: unknown; session?: unknown }): Promise<void> {
  state = "running";
  ending = { code: Deno.exitCode = 0 };
  // It is written before anything is run: a box that ends without it has run nothing, and another one may.
  if (session === null) await channel.tell("begin", "{}");
  try {
    const text = prepareProgram(message.program);
    if (message.session === true) {
      session ??= new (await import("./session.ts")).Session(address);
      channel.listen(false);
      await session.run(text);
    } else {
      channel.listen(false);
      module = await import(address.href);
    }
  } catch (error) {
    fail(error);
  }
  state = "over";
}

/** Write the program where it is wanted, if it has come with the message. */
function prepareProgram(given: unknown): string {
  const text = typeof given === "string" ? given : readTextFileSync(program);
  // It is what was started, though not what Deno was started with. As long as before, so that columns stay.
  const prepared = text.replaceAll("import.meta.main", "true            ");
  try {
    if (prepared !== text || typeof given === "string") writeTextFileSync(program, prepared);
  } catch (error) {
    if (typeof given === "string") throw error; // else it is there, only not to be changed
  }
  return prepared;
}

function fail(error: unknown): void {
  ending = { code: 1, limit: tellError(error, place) };
  if (session === null) exit(1);
}

/** In a session, when there is nothing more to do. */
function waitForAnother(event: Event): void {
  if (session === null || isAlone) return;
  event.preventDefault();
  if (state === "running") fail(new Error("Top-level await promise never resolved"));
  if (state !== "waiting") tellEnd();
  state = "waiting";
  channel.listen(true);
}

function tellEnd(): void {
  const code = ending.code || Deno.exitCode;
  const result = code === 0 ? resultOf(valueOfResult()) : undefined;
  let params = "";
  const add = (name: string, json: string) => params += `${params && ","}"${name}":${json}`;
  if (session !== null) add("exit_code", `${code}`);
  if (ending.limit !== undefined) add("ended", `"${ending.limit}"`);
  if (result !== undefined) add("result", result);
  if (params !== "") channel.tell("end", `{${params}}`);
}

function valueOfResult(): unknown {
  if (session !== null) return session.result();
  return module.result === undefined ? globalThis.result : module.result;
}

/** Nothing happens after `unload`: what is written then must be gone when the call returns. */
function blockOnWrites(): void {
  const { _handle: handle } = socket as unknown as { _handle?: { setBlocking(isBlocking: boolean): void } };
  handle?.setBlocking(true);
}
