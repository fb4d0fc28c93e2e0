import { call, type JsonOrText } from "../../satchel-runtime/index.ts";

export interface SetClimateInput {
  /** Which house (pattern "^[A-F]$") */
  house: string;
  /** Degrees Celsius (-5 to 45.5) */
  temperature: number;
  /** Percent of what the air can hold (default 60, > 0, < 100) */
  humidity?: number;
  /** (default true) */
  lights?: boolean;
  /** End of the setting (date-time) */
  until?: string;
  /**
   * For the gardener who reads the log in the morning and wonders why it is so warm; leave it out when
   * the change needs no explanation. (at most 200 characters)
   */
  note?: string;
}

/**
 * Set what the climate of a greenhouse should be.
 *
 * The change takes effect within five minutes. Values outside of what the plants of that house tolerate are
 * refused, and the reply says which plant would suffer, so it is safe to try.
 *
 *     Houses are called by letter: A, B, C.
 */
export function setClimate(input: SetClimateInput): Promise<JsonOrText> {
  return call("greenhouse", "set_climate", input);
}
