import { getChannelHistory } from "./servers/slack";

/** The latest messages of a channel as a digest in Markdown: a line for each thread, with its replies counted. */
export async function channelDigest(channel: string, limit: number = 50): Promise<string> {
  const { messages, has_more } = await getChannelHistory({ channel, limit });
  const threads = messages.filter((message) => message.thread_ts === null || message.thread_ts === message.ts);
  const lines = threads.map((first) => {
    const replies = messages.filter((message) => message.thread_ts === first.ts && message.ts !== first.ts);
    const text = first.text.replaceAll(/\s+/g, " ").slice(0, 100);
    const answered = replies.length > 0 ? ` (${replies.length} replies, last by ${replies[0].user})` : "";
    return `- **${first.user}**: ${text}${answered}`;
  });
  return [`# #${channel}`, "", ...lines, ...(has_more ? ["", "There is more."] : [])].join("\n");
}
