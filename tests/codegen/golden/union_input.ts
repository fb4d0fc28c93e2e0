import { call } from "../../satchel-runtime/index.ts";

export type CutInput = {
  shape: "circle";
  /** In millimetres (> 0) */
  radius: number;
  board?: string;
} | {
  shape: "rectangle";
  /** (> 0) */
  width: number;
  /** (> 0) */
  height: number;
  /** By its number */
  board?: number;
};

export interface CutOutput {
  piece: {
    kind: "cut";
    grams: number;
  } | {
    kind: "spoilt";
    why?: string;
  };
}

/** Cut a shape out of a board. */
export function cut(input: CutInput): Promise<CutOutput> {
  return call("workshop", "cut", input);
}
