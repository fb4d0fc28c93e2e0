import { call } from "../../satchel-runtime/index.ts";

export interface ClassifyInput {
  plant: string;
  /** (at least 1) */
  depth?: number | null;
}

export interface Taxon {
  name: string;
  rank: "kingdom" | "family" | "genus" | "species";
  parts?: Taxon[];
  parent?: Taxon | null;
}

export interface SignedNote {
  by: string;
  note: Note;
}

export type Note = string | Note[] | SignedNote;

export interface ClassifyOutput {
  root: Taxon;
  notes?: Note;
}

/** Where a plant belongs, from its kingdom down. */
export function classify(input: ClassifyInput): Promise<ClassifyOutput> {
  return call("herbarium", "classify", input);
}
