/** Requests for pages of a listing, and their parsing. */
import { headOf, makeSigner, type S3Access } from "./signer.ts"

export interface Listing {
  readonly bucket: string
  readonly prefix: string
  readonly delimiter: string
  /** The storage API and a key for it; default: the S3 endpoint. */
  readonly api?: { readonly url: string; readonly apikey: string }
}

interface Page {
  readonly keys: ReadonlyArray<string>
  readonly prefixes: number
  readonly next: string | undefined
}

const between = (text: string, tag: string) =>
  [...text.matchAll(new RegExp(`<${tag}>([^<]*)</${tag}>`, "g"))].map(([, found]) => found ?? "")

export const xmlPage = (text: string): Page => ({
  keys: between(text, "Key"),
  prefixes: text.match(/<CommonPrefixes>/g)?.length ?? 0,
  next: between(text, "NextContinuationToken")[0]
})

interface JsonPage {
  readonly objects: ReadonlyArray<{ readonly key: string }>
  readonly common_prefixes?: ReadonlyArray<string>
  readonly next_continuation_token: string | null
}

export const jsonPage = (text: string): Page => {
  const { common_prefixes: prefixes, next_continuation_token: next, objects }: JsonPage = JSON.parse(text)
  return { keys: objects.map(({ key }) => key), prefixes: prefixes?.length ?? 0, next: next ?? undefined }
}

const filled = (query: Array<[name: string, value: string]>) => query.filter(([, value]) => value !== "")

/** The request for the page with this token, empty for the first page. */
export const pageHead = (access: S3Access, { api, bucket, delimiter, prefix }: Listing, token: string) => {
  if (api === undefined) {
    const query = filled([
      ["continuation-token", token],
      ["delimiter", delimiter],
      ["list-type", "2"],
      ["max-keys", "1000"],
      ["prefix", prefix]
    ])
    const { headers, path } = makeSigner(access).byHeaders("GET", `/${bucket}`, query)
    return headOf("GET", path, headers)
  }
  const { host } = new URL(api.url)
  const query = filled([
    ["max_keys", "1000"],
    ["continuation_token", token],
    ["delimiter", delimiter],
    ["prefix", prefix]
  ])
  const path = `/api/storage/buckets/${bucket}/objects?${new URLSearchParams(query)}`
  return headOf("GET", path, { host, apikey: api.apikey })
}
