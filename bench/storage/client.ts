/** Who stores and fetches in bench/storage.ts, a process of its own. See bench/remote.ts for how it is asked. */
import { createHash, randomFillSync } from "node:crypto"
import { type Remote, serve } from "../support/remote.ts"
import { type Service } from "../support/service.ts"
import { type StorageFiles } from "./files.ts"
import { jsonPage, type Listing, pageHead, xmlPage } from "./pages.ts"
import { headOf, makeSigner, type S3Access } from "./signer.ts"
import { type Answer, askAll, type Question, Wire } from "./wire.ts"
import { type Percentiles, percentiles } from "../rows/table.ts"

type Method = "PUT" | "GET"

/** Many small objects, numbered from `first`. */
export interface Many {
  readonly method: Method
  /** The S3 endpoint when absent. */
  readonly files?: { readonly url: string; readonly sync: boolean }
  readonly bucket: string
  readonly first: number
  readonly count: number
  readonly size: number
  readonly connections: number
}

export interface ManyDone {
  readonly seconds: number
  readonly each: Percentiles
}

/** One large object, over and over. */
export interface Large {
  readonly method: Method
  /** All at once, a connection each. */
  readonly urls: ReadonlyArray<string>
  readonly headers: Readonly<Record<string, string>>
  /** By header, with the SHA-256 of the body. */
  readonly signed: boolean
}

export interface Listed {
  /** Milliseconds of each page. */
  readonly pages: ReadonlyArray<number>
  readonly keys: number
  readonly prefixes: number
  /** Each key comes after the one before. */
  readonly ordered: boolean
}

let access: S3Access = { url: "", accessKey: "", secretKey: "" }
let large = Buffer.alloc(0)
let largeMd5 = ""
let largeSha256 = ""

const use = (given: S3Access) => {
  access = given
}

const prepareLarge = (bytes: number) => {
  large = randomFillSync(Buffer.allocUnsafeSlow(bytes))
  largeMd5 = createHash("md5").update(large).digest("hex")
  largeSha256 = createHash("sha256").update(large).digest("hex")
}

/** Runs over new connections, opened before the clock starts. */
const timed = async (
  origin: string,
  connections: number,
  questions: ReadonlyArray<Question>,
  judge: (answer: Answer, index: number) => void
): Promise<ManyDone> => {
  const wires = Array.from({ length: connections }, () => new Wire(origin))
  try {
    const started = performance.now()
    const took = await askAll(wires, questions, judge)
    return { seconds: (performance.now() - started) / 1000, each: percentiles(took) }
  } finally {
    for (const wire of wires) wire.end()
  }
}

/** Throws unless a GET gave back the body, and a PUT's ETag, when there is one, is its MD5. */
const check = ({ body, head, same, status }: Answer, md5: string) => {
  const etag = /\r\netag: "([^"]*)"/i.exec(head)?.[1]
  if (status !== 200) throw new Error(`${status}: ${body.toString("utf8").slice(0, 500)}`)
  if (!same) throw new Error("A body differs from what was stored")
  if (etag !== undefined && etag !== md5) throw new Error(`ETag ${etag} instead of ${md5}`)
}

const transfer = async ({ headers, method, signed, urls }: Large) => {
  const signer = makeSigner(access)
  const questions = urls.map((url): Question => {
    const { host, pathname, search } = new URL(url)
    const own = { path: pathname + search, headers: { host, ...headers } }
    const { headers: all, path } = signed ? signer.byHeaders(method, pathname, [], largeSha256) : own
    return method === "PUT"
      ? { head: headOf(method, path, all, large.length), body: large }
      : { head: headOf(method, path, all), wanted: large }
  })
  return timed(urls[0] ?? "", urls.length, questions, (answer) => check(answer, largeMd5))
}

/** A hundred directories. */
const keyOf = (n: number) => `d${String(n % 100).padStart(2, "0")}/object-${String(n).padStart(7, "0")}`

const bodyOf = (n: number, size: number) => Buffer.alloc(size, `${n} `)

const many = async ({ bucket, connections, count, files, first, method, size }: Many): Promise<ManyDone> => {
  const origin = files?.url ?? access.url
  const { host } = new URL(origin)
  const signer = makeSigner(access)
  const bodies = Array.from({ length: count }, (_, n) => bodyOf(first + n, size))
  const sums = bodies.map((body) => createHash("md5").update(body).digest("hex"))
  const questions = bodies.map((body, n): Question => {
    const path = `/${bucket}/${keyOf(first + n)}`
    const target = files === undefined ? signer.byQuery(method, path) : `${path}${files.sync ? "?sync" : ""}`
    return method === "PUT"
      ? { head: headOf(method, target, { host }, size), body }
      : { head: headOf(method, target, { host }), wanted: body }
  })
  return timed(origin, connections, questions, (answer, index) => check(answer, sums[index] ?? ""))
}

/** All pages of 1,000, one after the other. */
const list = async (listing: Listing): Promise<Listed> => {
  const wire = new Wire(listing.api?.url ?? access.url)
  const pages: Array<number> = []
  let [keys, prefixes, ordered, last] = [0, 0, true, ""]
  try {
    for (let token: string | undefined = ""; token !== undefined;) {
      const head = pageHead(access, listing, token)
      const started = performance.now()
      const { body, status } = await wire.ask({ head })
      pages.push(performance.now() - started)
      const text = body.toString("utf8")
      if (status !== 200) throw new Error(`${status}: ${text.slice(0, 500)}`)
      const page = listing.api === undefined ? xmlPage(text) : jsonPage(text)
      for (const key of page.keys) {
        ordered &&= last < key
        last = key
      }
      keys += page.keys.length
      prefixes += page.prefixes
      token = page.next
    }
    return { pages, keys, prefixes, ordered }
  } finally {
    wire.end()
  }
}

const calls = { use, prepareLarge, transfer, many, list }
export type StorageClient = typeof calls

/** What each part measures with. */
export interface StorageBench {
  readonly service: Service
  readonly client: Remote<StorageClient>
  readonly files: Remote<StorageFiles>
  readonly filesUrl: string
}

if (import.meta.main) serve(calls)
