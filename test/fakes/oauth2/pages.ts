import { type FakeRequest, json, OAuth2Error, type Reply } from "./wire.ts"

/** One page of a list ordered by id, with links to the first and next page (RFC 8288). Tokens are opaque. */
export const pageOf = <A>({ path, query }: FakeRequest, all: ReadonlyArray<A>, idOf: (one: A) => string): Reply => {
  const limit = Math.min(Number(query.get("page_size")), 500)
  const after = tokenOf(query.get("page_token") ?? "")
  const sorted = all.toSorted((a, b) => (idOf(a) < idOf(b) ? -1 : 1)).filter((one) => idOf(one) > after)
  const page = sorted.slice(0, limit)
  const link = (id: string, rel: string) => {
    const to = new URLSearchParams(query)
    to.set("page_token", Buffer.from(JSON.stringify({ after: id })).toString("base64url"))
    return `<${path}?${to}>; rel="${rel}"`
  }
  const last = page.at(-1)
  const more = sorted.length > limit && last !== undefined ? [link(idOf(last), "next")] : []
  return json(200, page, { link: [link("", "first"), ...more].join(",") })
}

const tokenOf = (token: string): string => {
  if (token === "") return ""
  try {
    const { after } = JSON.parse(Buffer.from(token, "base64url").toString("utf8")) as { readonly after?: unknown }
    if (typeof after === "string") return after
  } catch {
    // Reported below.
  }
  throw new OAuth2Error(400, "invalid_request", "page_token is invalid")
}
