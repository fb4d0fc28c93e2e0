/** The connection to a `satchel bridge` on this machine, for scripts that run outside of the sandbox. */
import { createConnection } from "node:net";
import { Channel } from "./channel.ts";
import { NotConnectedError } from "./errors.ts";

/** `address` is what `satchel bridge` prints: the token, an @ and the path of the socket. */
export function connectToBridge(address: string): Promise<Channel> {
  const at = address.indexOf("@");
  const token = at < 0 ? address : address.slice(0, at);
  const path = at < 0 ? "" : address.slice(at + 1);
  return new Promise((resolve, reject) => {
    const refused = `the bridge at ${path} did not accept the token in SATCHEL_BRIDGE`;
    const lost = (error?: Error) => reject(new NotConnectedError(error ? noBridge(path, error) : refused));
    try {
      const channel: Channel = new Channel(createConnection(path), () => {
        channel.listen(false);
        resolve(channel);
      }, lost);
      channel.tell("hello", JSON.stringify({ token }));
    } catch (error) {
      lost(error as Error); // such as that Deno was not allowed to open it
    }
  });
}

function noBridge(path: string, error: Error): string {
  return `no bridge answers at ${path}: ${error.message}; start one with: satchel bridge`;
}
