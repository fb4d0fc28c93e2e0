import { call, type JsonOrText } from "../../satchel-runtime/index.ts";

export interface MarkParcelInput {
  parcel: string;
  state: "waiting" | "on its way" | "delivered" | "\"lost\"";
  priority?: 1 | 2 | 3;
  weight_class?: 0.5 | 2 | "heavy";
  fragile?: true | null;
  /** (at most 2 items, no repetitions) */
  labels?: ("gift" | "express")[];
  version: "v2";
}

/** Mark a parcel. */
export function markParcel(input: MarkParcelInput): Promise<JsonOrText> {
  return call("parcel-desk", "mark_parcel", input);
}
