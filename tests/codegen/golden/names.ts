import { call } from "../../satchel-runtime/index.ts";

export interface LettersSendOneInput {
  /** Who writes */
  from: string;
  to: string;
  class?: "first" | "second";
  /** (email) */
  "reply-to"?: string;
  "2nd line"?: string;
  "名前"?: string;
  $price?: number;
  self?: boolean;
  ""?: string;
  stamp: {
    import: boolean;
    get?: string;
    items?: number;
    "x.y"?: number;
    metaclass?: string;
  };
}

export interface LettersSendOneOutput {
  "@id": string;
  keys?: string[];
  return: string;
  _id?: string;
}

/** Send one letter. */
export function lettersSendOne(input: LettersSendOneInput): Promise<LettersSendOneOutput> {
  return call("Mail Room (3rd floor)", "Letters.send-one", input);
}
