/** The types that programs share. */
export { NotConnectedError, PermissionError, ToolError } from "../satchel-runtime/index.ts";
export type {
  Connection,
  JsonOrText,
  Prompt,
  PromptMessage,
  Resource,
  ResourceContent,
} from "../satchel-runtime/index.ts";
