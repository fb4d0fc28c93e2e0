import { call } from "../../satchel-runtime/index.ts";

export interface ListInput {
  /** Only those of these sorts */
  list?: string[];
  dict?: Record<string, number[]>;
  str?: string;
  call?: boolean;
}

export interface ListOutput {
  list: string[];
}

/** List the apples of an orchard. */
export function list(input: ListInput = {}): Promise<ListOutput> {
  return call("list", "list", input);
}
