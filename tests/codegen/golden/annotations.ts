import { call, type JsonOrText } from "../../satchel-runtime/index.ts";

export interface PurgeInput {
  box: string;
  /** (date) */
  before?: string;
  /** (date) */
  after?: string;
}

/**
 * Remove what is older than a year.
 *
 * Says "gone" for each; *\/ and """ and \N are ordinary text here.
 *
 * Destructive: may delete or overwrite. Be sure before calling it.
 * Idempotent: repeating a call changes nothing more.
 * Give one of: before; after.
 */
export function purge(input: PurgeInput): Promise<JsonOrText> {
  return call("archive", "purge", input);
}
