/** Clients that do not read the answers to four requests. */
import { request, type Request } from "../client.ts"
import { json, type Pattern, type Server, type Target } from "../pattern.ts"
import { amplified } from "./embeds.ts"

const unread = (
  name: string,
  title: string,
  make: (target: Target) => Request,
  more: Partial<Pattern> = {}
): Pattern => ({
  name: `unread-${name}`,
  title: `${title}, which the client never reads`,
  attack: (target) => {
    const requests = Array.from({ length: 4 }, () => make(target))
    return (client) => client.ignore(requests)
  },
  ...more
})

const read =
  (path: string) =>
  ({ key }: Target) =>
    request("GET", path, { apikey: key })
const ofrep: Server = "ofrep"

export const unreadAnswers: ReadonlyArray<Pattern> = [
  unread("embeds", "amplifying embeds", read(`/v1/db/parents?limit=5&select=${amplified(10)}`)),
  unread("rows", "10,000 wide rows", read("/v1/db/wide"), { needs: ["wide"] }),
  unread("description", "the description of 300 tables", read("/v1/db/"), { needs: ["tables"] }),
  unread("docs", "`/docs`", () => request("GET", "/docs", {})),
  unread(
    "flags",
    "100 flags, from the OFREP port",
    () => request("POST", "/ofrep/v1/evaluate/flags", json, '{"context":{}}'),
    { needs: ["flags"], server: ofrep }
  )
]
