/** What a program has without an import. Known to the type checker by `compilerOptions.types`. */
import type { callMCPTool as callByName, searchTools as findTools } from "./index.ts";

declare global {
  /** Call a tool by any of its spellings, such as "google_drive__get_document". */
  var callMCPTool: typeof callByName;
  /** Tools that fit a query, best first. */
  var searchTools: typeof findTools;
  var search_tools: typeof findTools;
  /** What the program returns, where it has no export of that name. */
  var result: unknown;
}
