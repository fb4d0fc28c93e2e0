/** `callMCPTool("server__tool", {…})`, where other generators have it. */
export { callMCPTool } from "./satchel-runtime/index.ts";
