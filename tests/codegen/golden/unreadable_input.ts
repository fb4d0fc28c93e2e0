import { call, type JsonOrText } from "../../satchel-runtime/index.ts";

/**
 * Ask the old oracle.
 *
 * Input schema not understood: type "tablet" is not known.
 */
export function ask(input: Record<string, unknown> = {}): Promise<JsonOrText> {
  return call("oracle-of-old", "ask", input);
}
