/** `callMCPTool("server__tool", {…})`: a call without a wrapper. */
export { callMCPTool } from "../satchel-runtime/index.ts";
