/**
 * What programs and wrappers use besides the wrappers themselves.
 *
 * A program talks to Satchel through one connection; whoever runs the program sets it with `connect`.
 */

/** A result whose type the server does not declare: what its JSON says, or its text. */
// deno-lint-ignore no-explicit-any
export type JsonOrText = any;

/** Carries requests to Satchel. Rejects with ToolError or PermissionError for what fails or is refused. */
export interface Connection {
  request(method: string, params: Record<string, unknown>): Promise<unknown>;
}

/** A call that failed. `kind` is tool (it reported an error), protocol, timeout, connection or input. */
export class ToolError extends Error {
  override name = "ToolError";
  constructor(
    readonly server: string,
    readonly tool: string,
    readonly reason: string,
    readonly kind: string = "tool",
  ) {
    super(`${server}.${tool}: ${reason}`);
  }
}

/** A call that this program's agent may not make. */
export class PermissionError extends Error {
  override name = "PermissionError";
}

/** There is no connection to Satchel. */
export class NotConnectedError extends Error {
  override name = "NotConnectedError";
}

let current: Connection | null = null;

/** Send everything from now on through `connection`. */
export function connect(connection: Connection | null): void {
  current = connection;
}

async function request(method: string, params: Record<string, unknown>): Promise<unknown> {
  if (current === null) {
    throw new NotConnectedError(
      "this program is not connected to Satchel; to try it without servers: " +
        "connect({ request: (method, params) => Promise.resolve(…) })",
    );
  }
  return await current.request(method, params);
}

/** Arguments without those that are undefined: they were not given. Null is a value, and is sent. */
function given(input: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined));
}

/**
 * What wrappers do. `unwrap` takes the value out of the `result` that some servers put every value into.
 */
export async function call<T>(server: string, tool: string, input: object = {}, unwrap = false): Promise<T> {
  const value = await request("call_tool", { server, tool, arguments: given(input) });
  if (unwrap && typeof value === "object" && value !== null && "result" in value) {
    return value.result as T;
  }
  return value as T;
}

/** Call a tool by its names. */
export function callTool(server: string, tool: string, input: object = {}): Promise<JsonOrText> {
  return request("call_tool", { server, tool, arguments: given(input) });
}

/** Call a tool by any of its spellings, such as "google_drive__get_document". */
export function callMCPTool<T = JsonOrText>(name: string, input: object = {}): Promise<T> {
  return request("call_tool", { name, arguments: given(input) }) as Promise<T>;
}

/** All servers: name, description, state and number of tools of each. */
export function listServers(): Promise<JsonOrText> {
  return request("list_servers", {});
}

/** Tools that fit the query, best first. */
export function searchTools(
  query: string,
  options: { server?: string; detail?: "name" | "desc" | "full"; limit?: number; offset?: number } = {},
): Promise<JsonOrText> {
  return request("search_tools", { query, ...given(options) });
}

/** One tool, by any of its spellings: description, input and output schema. */
export function describeTool(name: string): Promise<JsonOrText> {
  return request("describe_tool", { name });
}

export interface ResourceContent {
  uri: string;
  mimeType?: string;
  text?: string;
  blob?: string;
}

export interface Resource {
  contents: ResourceContent[];
  /** The texts of its parts, one after the other. */
  text: string;
}

/** A resource of a server. */
export async function readResource(server: string, uri: string): Promise<Resource> {
  const value = (await request("read_resource", { server, uri }) ?? {}) as { contents?: ResourceContent[] };
  const contents = Array.isArray(value.contents) ? value.contents : [];
  const texts = contents.map((part) => part?.text).filter((text) => typeof text === "string");
  return { ...value, contents, text: texts.join("\n") };
}

export interface PromptMessage {
  role: string;
  content: { type: string; text?: string; [key: string]: unknown };
}

export interface Prompt {
  messages: PromptMessage[];
  description?: string;
  /** The texts of its messages, one after the other. */
  text: string;
}

/** A prompt of a server, filled in. */
export async function getPrompt(server: string, name: string, input: object = {}): Promise<Prompt> {
  const asked = { server, name, arguments: given(input) };
  const value = (await request("get_prompt", asked) ?? {}) as { messages?: PromptMessage[] };
  const messages = Array.isArray(value.messages) ? value.messages : [];
  const texts = messages.map((message) => message?.content?.text).filter((text) => typeof text === "string");
  return { ...value, messages, text: texts.join("\n") };
}

/** Keep a working program as a skill that can be found and run again. */
export function saveSkill(
  name: string,
  description: string,
  code: string,
  details: Record<string, unknown> = {},
): Promise<JsonOrText> {
  return request("save_skill", { ...details, name, description, code });
}
