/**
 * What the runtime needs of the language, taken before a program runs: one that replaces `JSON.stringify` or
 * `Uint8Array.prototype.set` breaks its own use of them, and no call. It is also why there is no `for … of` in
 * a call, nor a spread of an array: both look up an iterator that can be replaced.
 */
const { apply } = Reflect;

/** A method as a function that takes the object first. */
export function method<Self, Given extends unknown[], Value>(
  body: (this: Self, ...given: Given) => Value,
): (self: Self, ...given: Given) => Value {
  return (self, ...given) => apply(body, self, given);
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const encodeWith = method(TextEncoder.prototype.encode);
const decodeWith = method(TextDecoder.prototype.decode);

export const { parse, stringify } = JSON;
export const { create, hasOwn } = Object;
export const { isFinite } = Number;
export const { isView } = ArrayBuffer;
export const PromiseOf = Promise;
export const Bytes = Uint8Array;
export const subarray = method(Uint8Array.prototype.subarray);
export const setBytes = method(Uint8Array.prototype.set);
export const encode = (text: string): Uint8Array<ArrayBuffer> => encodeWith(encoder, text);
export const decode = (bytes: Uint8Array): string => decodeWith(decoder, bytes);
