/**
 * What programs and wrappers use besides the wrappers themselves.
 *
 * A program talks to Satchel through one connection; the program's runner sets it with `connect`.
 */
export { connect, type Connection } from "./connection.ts";
export { NotConnectedError, PermissionError, ToolError } from "./errors.ts";
export {
  call,
  callCustomTool,
  callMCPTool,
  callTool,
  describeTool,
  type FileSearch,
  type Found,
  getPrompt,
  hide,
  type JsonOrText,
  listServers,
  type NamedCall,
  type Prompt,
  type PromptMessage,
  promoteSkill,
  readResource,
  type Resource,
  type ResourceContent,
  reveal,
  saveSkill,
  searchTools,
  semanticSearch,
  type ToolSearch,
} from "./verbs.ts";
