/** The client of the storage bench, a separate process called through bench/support/remote.ts. */
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
  /** Default: the S3 endpoint. */
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

/** Transfers of large objects. */
export interface Large {
  readonly method: Method
  /** Transferred concurrently, each over its own connection. */
  readonly urls: ReadonlyArray<string>
  readonly headers: Readonly<Record<string, string>>
  /** Whether requests are signed by header, with the SHA-256 of the body. */
  readonly signed: boolean
}

export interface Listed {
  /** The duration of each page, in ms. */
  readonly pages: ReadonlyArray<number>
  readonly keys: number
  readonly prefixes: number
  /** Whether the keys are in ascending order. */
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

/** Sends the requests over new connections, opened before the measurement. */
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

/** Throws unless a GET returned the stored body, and a PUT's ETag, if any, is the MD5. */
const check = ({ body, head, same, status }: Answer, md5: string) => {
  const etag = /\r\netag: "([^"]*)"/i.exec(head)?.[1]
  if (status !== 200) throw new Error(`${status}: ${body.toString("utf8").slice(0, 500)}`)
  if (!same) throw new Error("The returned body differs from the stored one")
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

/** Keys in a hundred directories. */
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

/** Reads all pages of 1,000, one after the other. */
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

/** The service, client and file server that a measurement uses. */
export interface StorageBench {
  readonly service: Service
  readonly client: Remote<StorageClient>
  readonly files: Remote<StorageFiles>
  readonly filesUrl: string
}

if (import.meta.main) serve(calls)
