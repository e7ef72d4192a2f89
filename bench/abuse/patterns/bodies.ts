/** Bodies of rows that are large, slow or oddly divided. */
import { setTimeout as sleep } from "node:timers/promises"
import { type Client, request } from "../client.ts"
import { csv, json, list, type Pattern, posts } from "../pattern.ts"

const path = "/v1/db/notes"
const minimal = { prefer: "return=minimal" }
const csvRows = { ...csv, ...minimal }
const jsonRows = { ...json, ...minimal }

/** Sends most of a body at once and the rest a byte at a time. */
const slowly = async (client: Client, key: string, size: number, first: number) => {
  if (!(await client.open())) return
  const head = request("POST", path, { apikey: key, ...jsonRows, "content-length": String(size) }).bytes[0]
  client.write(head ?? "")
  client.write(Buffer.alloc(first, " "))
  while (client.write(" ")) await sleep(500)
}

/** A chunked body with this content, in chunks of `size` bytes. */
const chunked = (text: string, size: number) => {
  const parts: Array<string> = []
  for (let at = 0; at < text.length; at += size) {
    const part = text.slice(at, at + size)
    parts.push(`${part.length.toString(16)}\r\n${part}\r\n`)
  }
  return `${parts.join("")}0\r\n\r\n`
}

export const bodies: ReadonlyArray<Pattern> = [
  {
    name: "json-nested",
    title: "4,000,000 nested `[` in a column",
    attack: posts(path, jsonRows, () => `{"body":${"[".repeat(4_000_000)}${"]".repeat(4_000_000)}}`)
  },
  {
    name: "json-keys",
    title: "one row with 700,000 keys",
    attack: posts(path, jsonRows, () => `{${list(700_000, (n) => `"k${n}":1`)}}`)
  },
  {
    name: "json-rows",
    title: "300,000 small rows as JSON",
    attack: posts(path, jsonRows, () => `[${list(300_000, (n) => `{"body":"${n}"}`)}]`)
  },
  {
    name: "json-text",
    title: "one row with a text of 9 MB",
    attack: posts(path, jsonRows, () => `{"body":"${"x".repeat(9_000_000)}"}`)
  },
  {
    name: "csv-empty",
    title: "5,000,000 empty records as CSV",
    attack: posts(path, csvRows, () => `id,body\n${",\n".repeat(5_000_000)}`)
  },
  {
    name: "csv-rows",
    title: "300,000 small rows as CSV",
    attack: posts(path, csvRows, () => `body\n${list(300_000, (n) => `${n}`).replaceAll(",", "\n")}\n`)
  },
  {
    name: "csv-columns",
    title: "CSV with 1,000,000 columns",
    attack: posts(path, csvRows, () => `${list(1_000_000, (n) => `c${n}`)}\n1\n`)
  },
  {
    name: "slow-bodies",
    title: "bodies of 10 MB, the last of it a byte every 500 ms",
    attack:
      ({ key }) =>
      (client) =>
        slowly(client, key, 10_000_000, 9_900_000)
  },
  {
    name: "chunked-bodies",
    title: "1 MB in chunks of 2 bytes, without a length",
    attack: posts(path, { ...jsonRows, "transfer-encoding": "chunked" }, () =>
      chunked(`{"body":"${"x".repeat(1_000_000)}"}`, 2)
    )
  },
  {
    name: "endless-bodies",
    title: "chunked bodies that never end",
    attack:
      ({ key }) =>
      async (client) => {
        if (!(await client.open())) return
        const head = request("POST", path, { apikey: key, ...jsonRows, "transfer-encoding": "chunked" })
        client.write(head.bytes[0] ?? "")
        const chunk = Buffer.from(`10000\r\n${" ".repeat(65_536)}\r\n`)
        while (client.write(chunk)) await sleep(client.unsent > 1_000_000 ? 10 : 0)
      }
  }
]
