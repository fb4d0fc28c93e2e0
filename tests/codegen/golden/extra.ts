import { call, type JsonOrText } from "../../satchel-runtime/index.ts";

export interface RecordReadingInput {
  sensor: string;
  /** (date-time) */
  at?: string;
  extra?: string;
  /** (keys match "^[a-z]+$") */
  tags?: Record<string, string>;
  place?: {
    room?: string;
    [key: string]: unknown;
  };
  [key: string]: unknown;
}

/** Record what a sensor says. Any further parameter is a quantity and its value. */
export function recordReading(input: RecordReadingInput): Promise<JsonOrText> {
  return call("sensor-hub", "record_reading", input);
}
