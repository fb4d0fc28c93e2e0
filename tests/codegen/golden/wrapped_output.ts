import { call } from "../../satchel-runtime/index.ts";

export interface NextTidesInput {
  harbour: string;
  /** (default 4, 1 to 28) */
  count?: number;
}

export interface Tide {
  /** (date-time) */
  at: string;
  metres: number;
  high: boolean;
}

/** The next high and low tides of a harbour. */
export function nextTides(input: NextTidesInput): Promise<Tide[]> {
  return call("tides", "next_tides", input, true);
}
