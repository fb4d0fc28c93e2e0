import { call, type JsonOrText } from "../../satchel-runtime/index.ts";

export interface Address {
  street: string;
  city: string;
  position?: [number, number];
}

export interface PlaceOrderInput {
  /** Who orders */
  customer: {
    name: string;
    address: Address;
    telephone?: string | null;
  };
  /** (at least 1 item) */
  items: {
    /** What is in the window, by its name */
    product: string;
    /** (default 1, at least 1) */
    count?: number;
    options?: Record<string, string>;
  }[];
  /** Where the invoice goes, if elsewhere */
  invoice?: Address;
}

/** Order bread and cake. */
export function placeOrder(input: PlaceOrderInput): Promise<JsonOrText> {
  return call("bakery", "placeOrder", input);
}
