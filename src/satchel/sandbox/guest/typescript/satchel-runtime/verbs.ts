/** What a program can ask of Satchel. */
import { request } from "./connection.ts";
import { create, hasOwn } from "./intrinsics.ts";

/** A result whose type the server does not declare: what its JSON says, or its text. */
// deno-lint-ignore no-explicit-any
export type JsonOrText = any;

/** Arguments without those that are undefined: they were not given. Null is a value, and is sent. */
function given(input: object): Record<string, unknown> {
  const known = input as Record<string, unknown>;
  const kept = create(null); // so that "__proto__" is a name like any other
  for (const name in known) {
    if (known[name] !== undefined && hasOwn(known, name)) kept[name] = known[name];
  }
  return kept;
}

/**
 * What wrappers do. `unwrap` takes the value out of the `result` that some servers put every value into.
 */
export async function call<T>(server: string, tool: string, input: object = {}, unwrap = false): Promise<T> {
  const value = await request("call_tool", { server, tool, arguments: given(input) });
  if (unwrap && typeof value === "object" && value !== null && hasOwn(value, "result")) {
    return (value as { result: T }).result;
  }
  return value as T;
}

/** Call a tool by its names. Rejects with ToolError when it fails, PermissionError when it is not allowed. */
export async function callTool(server: string, tool: string, input: object = {}): Promise<JsonOrText> {
  return await request("call_tool", { server, tool, arguments: given(input) });
}

/** A tool by its two names, with what it is given. */
export interface NamedCall {
  server: string;
  tool: string;
  arguments?: object;
}

/**
 * Call a tool by any of its spellings, such as "google_drive__get_document"; or by its two names, as
 * `callMCPTool({ server: "google-drive", tool: "get_document", arguments: {…} })`.
 */
export async function callMCPTool<T = JsonOrText>(name: string | NamedCall, input: object = {}): Promise<T> {
  if (typeof name === "object") return await callTool(name.server, name.tool, name.arguments) as T;
  return await request("call_tool", { name, arguments: given(input) }) as T;
}

/** Call a custom tool, such as "web.playwright_navigate". */
export async function callCustomTool(name: string, input: object = {}): Promise<JsonOrText> {
  return await request("call_tool", { name, arguments: given(input) });
}

/** All servers: name, description, state and number of tools of each; more than a hundred come as `groups`. */
export async function listServers(): Promise<JsonOrText> {
  return await request("list_servers", {});
}

export interface ToolSearch {
  query?: string;
  keyword?: string;
  server?: string;
  detail?: "name" | "desc" | "full";
  detail_level?: string;
  limit?: number;
  offset?: number;
}

/** Tools that fit the query, best first: `searchTools("send a message")`, or `{ keyword: …, detail_level: … }`. */
export async function searchTools(query: string | ToolSearch, options: ToolSearch = {}): Promise<JsonOrText> {
  const asked = typeof query === "object" ? query : { ...options, query };
  return await request("search_tools", given(asked));
}

/**
 * What a search has found: `kind` is tool, skill or memory, `path` that of a file to read on.
 * Of memory, `line` is where to read; what is `waiting` for a person's review is data only, and `agent` is
 * who wrote it, if another one did.
 */
export interface Found {
  kind: string;
  path: string;
  score: number;
  relevance_score: number;
  text: string;
  line?: number;
  waiting?: boolean;
  agent?: string;
}

export interface FileSearch {
  limit?: number;
  top_k?: number;
  search_paths?: string[];
}

/** What fits the query, best first; with `search_paths`, such as "servers/", only what lies there. */
export async function semanticSearch(
  query: string | FileSearch & { query: string },
  options: FileSearch = {},
): Promise<Found[]> {
  const { top_k, ...asked } = typeof query === "object" ? query : { ...options, query };
  const limit = top_k ?? asked.limit;
  const found = await request("semantic_search", given({ ...asked, limit })) as Found[];
  return found.map((each) => ({ ...each, relevance_score: each.score }));
}

/** One tool, by any of its spellings: description, input and output schema. */
export async function describeTool(name: string): Promise<JsonOrText> {
  return await request("describe_tool", { name });
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

/**
 * Keep a working program as a skill: a module that exports a function of that name, for later programs to import.
 *
 * `create-report` is imported with `import { createReport } from "./skills/create-report"`. `example` is a
 * program that uses it, for a test.
 */
export async function saveSkill(
  name: string,
  code: string,
  description: string,
  options: { example?: string; language?: "python" | "typescript" } = {},
): Promise<JsonOrText> {
  return await request("save_skill", { language: "typescript", ...given(options), name, code, description });
}

/** What the privacy tokens in a text stand for. Rejects with PermissionError where programs see tokens only. */
export async function reveal(text: string): Promise<string> {
  return String(await request("reveal", { text }));
}

/** A privacy token for a text that is personal, for output. */
export async function hide(text: string): Promise<string> {
  return String(await request("hide", { text }));
}

/** Give a tested skill to all agents. Rejects with PermissionError where that is for people to do. */
export async function promoteSkill(name: string): Promise<JsonOrText> {
  return await request("promote_skill", { name });
}
