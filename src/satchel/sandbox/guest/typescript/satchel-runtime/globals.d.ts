/** What a program has without an import. Known to the type checker by `compilerOptions.types`. */
import type { callMCPTool as callByName } from "./index.ts";

declare global {
  /** Call a tool by any of its spellings, such as "google_drive__get_document". */
  var callMCPTool: typeof callByName;
  /** What the program returns, where it has no export of that name. */
  var result: unknown;
}
