import { call } from "../../satchel-runtime/index.ts";

export interface AskInput {
  /** In verse (schema not understood: type "riddle" is not known) */
  question: unknown;
  /** (schema not understood: $ref #/$defs/Goat leads nowhere in the schema) */
  offering?: unknown;
  /** (schema not understood: contradictory) */
  day?: unknown;
  /** (schema not understood: its enum is not a list of values) */
  witnesses?: unknown[];
  /** (schema not understood: no value is valid) */
  silence?: unknown;
  anything?: unknown;
  mood?: unknown;
}

/**
 * Ask the oracle.
 *
 * Output schema not understood: $ref https://example.com/schemas/answer.json leads nowhere in the schema.
 */
export function ask(input: AskInput): Promise<unknown> {
  return call("oracle", "ask", input);
}
