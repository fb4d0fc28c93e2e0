import { channelDigest } from "./skills/channel-digest";

const digest = await channelDigest("sales", 20);
console.log(digest);
if (!digest.startsWith("# #sales\n\n- **")) throw new Error(digest);
