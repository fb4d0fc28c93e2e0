/** Values as JSON, where JSON can say them. `JSON.stringify` alone drops or changes what it can't. */
import { isFinite, isView, stringify } from "./intrinsics.ts";

/** The value as JSON; undefined for undefined. Throws TypeError for what JSON has no word for. */
export function toJson(value: unknown): string | undefined {
  return stringify(value, refuse);
}

function refuse(_key: string, value: unknown): unknown {
  const type = typeof value;
  if (type === "function" || type === "symbol" || type === "bigint") {
    throw new TypeError(`a ${type} is not JSON serializable`);
  }
  if (type === "number" && !isFinite(value as number)) {
    throw new TypeError(`${value} is not JSON serializable`);
  }
  if (type === "object") {
    if (value instanceof Map) {
      throw new TypeError("a Map is not JSON serializable; Object.fromEntries makes an object of it");
    }
    if (value instanceof Set) {
      throw new TypeError("a Set is not JSON serializable; Array.from makes an array of it");
    }
    if (isView(value)) {
      throw new TypeError("bytes are not JSON serializable; Array.from makes an array of them");
    }
  }
  return value;
}
