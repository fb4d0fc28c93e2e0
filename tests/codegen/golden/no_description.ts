import { call } from "../../satchel-runtime/index.ts";

export interface AddInput {
  a: number;
  b: number;
}

export function add(input: AddInput): Promise<number> {
  return call("abacus", "add", input, true);
}
