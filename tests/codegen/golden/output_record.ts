import { call } from "../../satchel-runtime/index.ts";

export interface FindBookInput {
  /** (e.g. "The Compleat Angler") */
  title: string;
}

/** Somebody with a name. */
export interface Person {
  name: string;
  born?: number;
}

export interface Book {
  title: string;
  authors: Person[];
  /** Where it stands; null while it is lent */
  shelf?: string | null;
  loans?: { [key: string]: {
    reader: Person;
    /** (date) */
    until?: string;
  } };
  /** type: ignore is what a careless cataloguer wrote here */
  items?: number;
}

/**
 * Find a book by its title.
 *
 * Read-only: changes nothing.
 */
export function findBook(input: FindBookInput): Promise<Book> {
  return call("village-library", "find_book", input);
}
