import { call, type JsonOrText } from "../../satchel-runtime/index.ts";

/**
 * The time the sundial shows.
 *
 * Read-only: changes nothing.
 */
export function now(): Promise<JsonOrText> {
  return call("sundial", "now");
}
